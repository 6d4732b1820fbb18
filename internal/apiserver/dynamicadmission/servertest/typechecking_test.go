package servertest

import (
	"context"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
)

const misspelt = `
metadata: {name: misspelt}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [CREATE]}]
  validations:
  - {expression: object.spec.replicas <= 5}
  - {expression: object.spec.replicsa <= 5, messageExpression: "'not ' + string(object.spec.replicsa)"}
`

// TestTypeChecking checks that expressions with errors that only the type of the matched objects
// reveals are reported.
func TestTypeChecking(t *testing.T) {
	client, err := kubernetes.NewForConfig(server.Loopback())
	if err != nil {
		t.Fatal(err)
	}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	if err := yaml.Unmarshal([]byte(misspelt), policy); err != nil {
		t.Fatal(err)
	}
	policies := client.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	if _, err := policies.Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(
		t.Context(),
		10*time.Millisecond,
		20*time.Second,
		true,
		func(ctx context.Context) (bool, error) {
			policy, err = policies.Get(ctx, policy.Name, metav1.GetOptions{})
			return err == nil && policy.Status.ObservedGeneration == 1, err
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"spec.validations[1].expression", "spec.validations[1].messageExpression"}
	warnings := policy.Status.TypeChecking.ExpressionWarnings
	if len(warnings) != len(want) {
		t.Fatalf("got warnings %v, want %q", warnings, want)
	}
	for i, w := range warnings {
		if w.FieldRef != want[i] || !strings.Contains(w.Warning, "undefined field 'replicsa'") {
			t.Errorf("got %v, want an undefined field in %s", w, want[i])
		}
	}
}
