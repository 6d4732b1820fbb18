package rbac

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// TestScenarios runs the files of testdata. Their verbs:
//
//	apply                   manifests; answers nothing
//	delete KIND [NS/]NAME   forgets an object
//	can USER[;GROUP…]       a line a request, "VERB RESOURCE[.GROUP][/SUBRESOURCE] [NAME] [-n NS]" or "VERB /PATH"
//	rules USER[;GROUP…] [NS] all rules that somebody has
//	lacks USER[;GROUP…] [NS] rules as YAML; answers those that the user does not have
//	aggregate NAME          the rules that a ClusterRole gathers
//	gathered                the rules of all ClusterRoles that gather some, as they are written
//	size                    how much the index holds
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := &world{t: t, policy: NewPolicy()}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w.t = t
			verbs := map[string]func(*datadriven.TestData) string{
				"apply": w.apply, "delete": w.delete, "can": w.authorize, "rules": w.rules, "lacks": w.missingRules, "aggregate": w.aggregate,
				"gathered": w.aggregatedRoles, "size": w.size,
			}
			run, ok := verbs[d.Cmd]
			if !ok {
				t.Fatalf("%s: unknown verb %s", d.Pos, d.Cmd)
			}
			return run(d)
		})
	})
}

type world struct {
	t      *testing.T
	policy *Policy
	roles  []*rbacv1.ClusterRole
}

func (w *world) apply(d *datadriven.TestData) string {
	for _, doc := range documents(w.t, d.Input) {
		kind := struct{ Kind string }{}
		must(w.t, yaml.Unmarshal(doc, &kind))
		switch kind.Kind {
		case "Role":
			r := decode[rbacv1.Role](w.t, doc)
			w.policy.SetRole(r.Namespace, r.Name, r.Rules)
		case "ClusterRole":
			r := decode[rbacv1.ClusterRole](w.t, doc)
			w.policy.SetRole("", r.Name, r.Rules)
			w.roles = append(w.roles, r)
		case "RoleBinding":
			w.policy.SetRoleBinding(decode[rbacv1.RoleBinding](w.t, doc))
		case "ClusterRoleBinding":
			w.policy.SetClusterRoleBinding(decode[rbacv1.ClusterRoleBinding](w.t, doc))
		default:
			w.t.Fatalf("%s: unknown kind %q", d.Pos, kind.Kind)
		}
	}
	return ""
}

func (w *world) delete(d *datadriven.TestData) string {
	namespace, name, ok := strings.Cut(d.CmdArgs[1].Key, "/")
	if !ok {
		namespace, name = "", namespace
	}
	if strings.HasSuffix(d.CmdArgs[0].Key, "Binding") {
		w.policy.DeleteBinding(namespace, name)
	} else {
		w.policy.DeleteRole(namespace, name)
	}
	return ""
}

func userOf(d *datadriven.TestData) user.Info {
	names := strings.Split(d.CmdArgs[0].Key, ";")
	return &user.DefaultInfo{Name: names[0], Groups: names[1:]}
}

func namespaceOf(d *datadriven.TestData) string {
	if len(d.CmdArgs) > 1 {
		return d.CmdArgs[1].Key
	}
	return ""
}

func (w *world) authorize(d *datadriven.TestData) string {
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		line = strings.TrimSpace(line)
		decision, reason, err := w.policy.Authorize(w.t.Context(), attributes(userOf(d), line))
		must(w.t, err)
		answer := "no"
		if decision == authorizer.DecisionAllow {
			answer = "yes"
		}
		fmt.Fprintln(&out, strings.TrimRight(fmt.Sprintf("%s: %s %s", line, answer, reason), " "))
	}
	return out.String()
}

func attributes(who user.Info, line string) authorizer.Attributes {
	words := strings.Fields(line)
	a := authorizer.AttributesRecord{User: who, Verb: words[0]}
	if strings.HasPrefix(words[1], "/") {
		a.Path = words[1]
		return a
	}
	a.ResourceRequest = true
	target, sub, _ := strings.Cut(words[1], "/")
	a.Resource, a.APIGroup, _ = strings.Cut(target, ".")
	a.Subresource = sub
	if i := slices.Index(words, "-n"); i >= 0 {
		a.Namespace = words[i+1]
		words = words[:i]
	}
	if len(words) > 2 {
		a.Name = words[2]
	}
	return a
}

func (w *world) rules(d *datadriven.TestData) string {
	return describeAll(w.policy.Rules(userOf(d), namespaceOf(d)))
}

func (w *world) missingRules(d *datadriven.TestData) string {
	var rules []rbacv1.PolicyRule
	must(w.t, yaml.Unmarshal([]byte(d.Input), &rules))
	return lines(w.policy.Lacks(userOf(d), namespaceOf(d), rules))
}

func (w *world) aggregate(d *datadriven.TestData) string {
	for _, r := range w.roles {
		if r.Name == d.CmdArgs[0].Key {
			rules, err := Aggregated(r, w.roles)
			if err != nil {
				return err.Error()
			}
			return describeAll(rules)
		}
	}
	return "no such role"
}

func (w *world) aggregatedRoles(*datadriven.TestData) string {
	all, err := AggregatedRules(w.roles)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, name+": "+strings.Join(strings.Split(strings.TrimSpace(describeAll(all[name])), "\n"), ", "))
	}
	if err != nil {
		out = append(out, err.Error())
	}
	return lines(out)
}

func (w *world) size(*datadriven.TestData) string {
	return fmt.Sprintf("roles %d, bindings %d, subjects %d\n", len(w.policy.roles), len(w.policy.subjects),
		len(w.policy.grants))
}

func describeAll(rules []rbacv1.PolicyRule) string {
	var out []string
	for i := range rules {
		out = append(out, describe(&rules[i]))
	}
	return lines(out)
}

func lines(list []string) string {
	if len(list) == 0 {
		return "nothing\n"
	}
	return strings.Join(list, "\n") + "\n"
}

func documents(t *testing.T, text string) [][]byte {
	t.Helper()
	var out [][]byte
	reader := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		must(t, err)
		out = append(out, doc)
	}
}

func decode[T any](t *testing.T, doc []byte) *T {
	t.Helper()
	out := new(T)
	must(t, yaml.UnmarshalStrict(doc, out))
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
