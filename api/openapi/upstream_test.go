package openapi

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

func refTo(model string) spec.Ref { return spec.MustCreateRef("#/definitions/" + model) }

// addedFields are the properties that upstream's definition of the same name does not have.
func addedFields() map[string][]string {
	return map[string][]string{
		"io.k8s.api.core.v1.PodResourceClaim":                     {"podGroupResourceClaim", "clusterResourceClaimTemplateName"},
		"io.k8s.api.resource.v1.ResourceClaimSpec":                {"reservedFor"},
		"io.k8s.api.resource.v1.AllocationResult":                 {"reservedForAnyPod"},
		"io.k8s.api.resource.v1beta1.ResourceClaimSpec":           {"reservedFor"},
		"io.k8s.api.resource.v1beta1.AllocationResult":            {"reservedForAnyPod"},
		"io.k8s.api.resource.v1beta2.ResourceClaimSpec":           {"reservedFor"},
		"io.k8s.api.resource.v1beta2.AllocationResult":            {"reservedForAnyPod"},
		"io.k8s.api.scheduling.v1beta1.PodGroupResourceClaim":     {"clusterResourceClaimTemplateName"},
		"io.k8s.api.scheduling.v1beta1.CompositePodGroupTemplate": {"resourceClaims"},
		"io.k8s.api.scheduling.v1alpha3.CompositePodGroupSpec":    {"resourceClaims"},
		"io.k8s.api.scheduling.v1alpha3.CompositePodGroupStatus":  {"resourceClaimStatuses"},
	}
}

// isNewModel reports whether upstream has no definition of the model.
func isNewModel(model string) bool {
	return strings.HasPrefix(model, "io.k8s.api.scheduling.v1alpha2.") ||
		strings.HasPrefix(model, "dev.allot.placement.") ||
		strings.HasPrefix(model, "io.k8s.api.resource.v1alpha3.ClusterResourceClaimTemplate")
}

func structure(t *testing.T, s spec.Schema) map[string]any {
	t.Helper()
	v, err := Structure(&s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func readSums(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/upstream.sums")
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if model, sum, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasPrefix(line, "#") {
			sums[model] = sum
		}
	}
	return sums
}

func TestStructureIsThatOfUpstreamsGenerator(t *testing.T) {
	sums := readSums(t)
	definitions := Definitions(refTo)
	for model, d := range definitions {
		want, ok := sums[model]
		if !ok {
			if !isNewModel(model) {
				t.Errorf("%s is not in testdata/upstream.sums; the test of test/peer/cluster/openapi writes it with -rewrite",
					model)
			}
			continue
		}
		s := structure(t, d.Schema)
		for _, field := range addedFields()[model] {
			properties := s["properties"].(map[string]any)
			if properties[field] == nil {
				t.Errorf("%s lacks the added field %s", model, field)
			}
			delete(properties, field)
		}
		got, err := Sum(s)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s: checksum %s, upstream's is %s", model, got, want)
		}
	}
	for model := range sums {
		if _, ok := definitions[model]; !ok {
			t.Errorf("%s is not defined any more", model)
		}
	}
}

// TestEqualToShippedDefinitions compares with the definitions that upstream ships, and prints the
// differences.
func TestEqualToShippedDefinitions(t *testing.T) {
	shipped := apiextensions.GetOpenAPIDefinitions(refTo)
	compared := 0
	for model, got := range Definitions(refTo) {
		want, ok := shipped[model]
		if !ok {
			continue
		}
		compared++
		if diff := cmp.Diff(structure(t, want.Schema), structure(t, got.Schema)); diff != "" {
			t.Errorf("%s (-upstream +got):\n%s", model, diff)
		}
		if diff := cmp.Diff(dependenciesOf(want), dependenciesOf(got)); diff != "" {
			t.Errorf("%s: dependencies (-upstream +got):\n%s", model, diff)
		}
	}
	if compared < 40 {
		t.Errorf("only %d definitions compared", compared)
	}
}

func dependenciesOf(d common.OpenAPIDefinition) map[string]bool {
	all := map[string]bool{}
	for _, model := range d.Dependencies {
		all[model] = true
	}
	return all
}
