package servertest

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/allot-dev/allot/internal/controller/templatesync"
)

// TestRightsAreExactlyWhatIsCalled makes the controller do everything that it can do, and compares
// its requests with the permissions of its service account. (All tests run as this account, so a
// missing permission makes them fail.) Leases belong to the process; the script template_sync runs
// it as the service account.
func TestRightsAreExactlyWhatIsCalled(t *testing.T) {
	w := start(t, templatesync.Options{})
	ns := newNamespaces(t, 1)[0]
	newOriginal(t, "rights", "gpu.example.com") // create
	awaitStatus(t, "rights", "1/1/0 InStep")
	changeClass(t, "rights", "new.example.com") // delete
	awaitStatus(t, "rights", "1/1/0 InStep")
	strip(t, ns, "rights", fmt.Sprintf(`{"labels":{%q:null}}`, templatesync.Label)) // patch
	eventually(t, "the mark is back", func() bool {
		c := must(typed.ResourceV1().ResourceClaimTemplates(ns).Get(t.Context(), "rights", metav1.GetOptions{}))(t)
		return c.Labels[templatesync.Label] != ""
	})
	for range 2 { // the second event of a kind is a patch of the first
		strip(t, ns, "rights", `{"labels":null,"annotations":null,"ownerReferences":null}`)
		awaitStatus(t, "rights", "1/0/1 Conflict")
		if err := typed.ResourceV1().ResourceClaimTemplates(ns).Delete(t.Context(), "rights",
			metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		awaitStatus(t, "rights", "1/1/0 InStep")
	}
	allowed := allowances(t)
	eventually(t, "all rights are used", func() bool { return cmp.Equal(allowed, w.calls()) || t.Context().Err() != nil })
	if diff := cmp.Diff(allowed, w.calls()); diff != "" {
		t.Errorf("rights and calls (-allowed +called):\n%s", diff)
	}
}

func strip(t *testing.T, namespace, name, metadata string) {
	t.Helper()
	must(
		typed.ResourceV1().ResourceClaimTemplates(namespace).Patch(
			t.Context(),
			name,
			types.MergePatchType,
			[]byte(`{"metadata":`+metadata+`}`),
			metav1.PatchOptions{},
		),
	)(t)
}

// calls returns the requests as rules of roles.
func (w *wire) calls() map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	called := map[string]bool{}
	for _, c := range w.requests {
		called[c.verb+" "+c.group+"/"+c.resource] = true
		if c.verb == "watch" { // the list is part of the watch, if the server supports that
			called["list "+c.group+"/"+c.resource] = true
		}
	}
	return called
}

// allowances returns what the roles of the manifest permit, except for leases.
func allowances(t *testing.T) map[string]bool {
	t.Helper()
	allowed := map[string]bool{}
	d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(templatesync.RBAC()), 4096)
	for {
		var role rbacv1.ClusterRole // a Role has the same rules
		err := d.Decode(&role)
		if errors.Is(err, io.EOF) {
			return allowed
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			if rule.Resources[0] == "leases" {
				continue
			}
			if len(rule.Resources) != 1 || len(rule.APIGroups) != 1 {
				t.Fatalf("a rule of several resources: %v", rule)
			}
			for _, verb := range rule.Verbs {
				allowed[verb+" "+rule.APIGroups[0]+"/"+rule.Resources[0]] = true
			}
		}
	}
}
