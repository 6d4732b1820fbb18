package real

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// poll is how long a command waits between two looks.
const poll = 500 * time.Millisecond

// stage is what scenarios share.
type stage struct {
	cluster *cluster
	// controller is nil if only allot runs.
	controller *controller
	// path is the folder of more programs, before those of bin.
	path string
}

// scenarios runs the scenarios of a product, each in a namespace of its own.
func scenarios(t *testing.T, p product) {
	t.Helper()
	s := &stage{cluster: startCluster(t), path: bin}
	s.controller = startController(t, s.cluster, p)
	s.run(t, filepath.Join(p.name, "testdata"))
}

func (s *stage) run(t *testing.T, scenarios string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir:   scenarios,
		Setup: s.setup,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"eventually": eventually,
			"stays":      stays,
			"restart":    s.restart,
			"clean":      clean,
		},
	})
}

// setup creates the namespace, and the kubeconfig of which it is the default. The variable SOURCE is
// the folder of the product's module, and REPO that of allot.
func (s *stage) setup(env *testscript.Env) error {
	namespace := strings.ReplaceAll(strings.TrimPrefix(filepath.Base(env.WorkDir), "script-"), "_", "-")
	if _, err := s.cluster.kubectl("", "create", "namespace", namespace); err != nil {
		return err
	}
	// What a scenario that fails leaves must not disturb the next one.
	env.Defer(func() {
		if _, err := s.cluster.kubectl("", "delete", "namespace", namespace, "--timeout=60s"); err != nil {
			env.T().Log(err)
		}
	})
	admin, err := os.ReadFile(s.cluster.kubeconfig())
	if err != nil {
		return err
	}
	file := filepath.Join(env.WorkDir, "kubeconfig")
	if err := os.WriteFile(file, admin, 0o600); err != nil {
		return err
	}
	env.Setenv("KUBECONFIG", file)
	if s.controller != nil {
		env.Setenv("SOURCE", s.controller.source)
	}
	repo, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	env.Setenv("REPO", repo)
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("NO_COLOR", "1")
	env.Setenv("PATH", strings.Join([]string{s.path, bin, env.Getenv("PATH")}, string(os.PathListSeparator)))
	cmd := exec.Command(filepath.Join(bin, "kubectl"), "config", "set-context", "--current", "--namespace", namespace)
	cmd.Env = env.Vars
	return cmd.Run()
}

// restart kills what is named, in this order, and starts it again:
//
//	restart allot controller
func (s *stage) restart(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: restart allot|controller…")
	}
	for _, name := range args {
		switch name {
		case "allot":
			ts.Check(s.cluster.restart())
		case "controller":
			if s.controller == nil {
				ts.Fatalf("there is no controller")
			}
			ts.Check(s.controller.restart())
		default:
			ts.Fatalf("no process %s", name)
		}
	}
}

// eventually runs a command until it succeeds and its output matches:
//
//	eventually 30s 'regexp' kubectl get pods
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	l := newLook(ts, neg, "eventually timeout regexp command [args…]", args)
	for end := time.Now().Add(l.time); !l.matches(ts); time.Sleep(poll) {
		if time.Now().After(end) {
			ts.Fatalf("no match for %q within %s; last output of %s:\n%s", l.want, l.time, l.command, l.last)
		}
	}
}

// stays runs a command for a time, and its output must match all along:
//
//	stays 3s 'regexp' kubectl get pods
func stays(ts *testscript.TestScript, neg bool, args []string) {
	l := newLook(ts, neg, "stays time regexp command [args…]", args)
	for end := time.Now().Add(l.time); time.Now().Before(end); time.Sleep(poll) {
		if !l.matches(ts) {
			ts.Fatalf("does not match %q any more; output of %s:\n%s", l.want, l.command, l.last)
		}
	}
}

// look is a command whose output is looked at again and again.
type look struct {
	time    time.Duration
	want    *regexp.Regexp
	command []string
	last    string
}

func newLook(ts *testscript.TestScript, neg bool, usage string, args []string) *look {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: %s", usage)
	}
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	want, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	return &look{time: d, want: want, command: args[2:]}
}

func (l *look) matches(ts *testscript.TestScript) bool {
	out, err := output(ts, l.command...)
	l.last = strings.TrimSuffix(out, "\n")
	return err == nil && l.want.MatchString(l.last)
}

// output runs a program of bin and returns what it prints, without warnings.
func output(ts *testscript.TestScript, command ...string) (string, error) {
	cmd := exec.Command(filepath.Join(bin, command[0]), command[1:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, key := range []string{"KUBECONFIG", "HOME", "NO_COLOR", "PATH"} {
		cmd.Env = append(cmd.Env, key+"="+ts.Getenv(key))
	}
	var warnings strings.Builder
	cmd.Stderr = &warnings
	out, err := cmd.Output()
	if err != nil {
		return warnings.String(), err
	}
	return string(out), nil
}

// given are the objects that each namespace has.
var given = []string{"configmap/kube-root-ca.crt", "serviceaccount/default"}

// clean waits until the namespace has no objects but those that each namespace has, and events:
//
//	clean 30s
func clean(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: clean timeout")
	}
	patience, err := time.ParseDuration(args[0])
	ts.Check(err)
	kinds, err := output(ts, "kubectl", "api-resources", "--namespaced", "--verbs=list", "--output=name")
	ts.Check(err)
	all := slices.DeleteFunc(strings.Fields(kinds), func(kind string) bool { return strings.HasPrefix(kind, "events") })
	for end := time.Now().Add(patience); ; time.Sleep(poll) {
		out, err := output(ts, "kubectl", "get", strings.Join(all, ","), "--output=name", "--ignore-not-found")
		left := slices.DeleteFunc(strings.Fields(out), func(name string) bool { return slices.Contains(given, name) })
		if err == nil && len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("left after %s: %s", patience, strings.Join(left, " "))
		}
	}
}
