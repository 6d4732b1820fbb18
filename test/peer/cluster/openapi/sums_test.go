package openapi

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"
	upstream "k8s.io/kubernetes/pkg/generated/openapi"

	"github.com/allot-dev/allot/api/openapi"
)

var rewrite = flag.Bool("rewrite", false, "write the checksums into api/openapi/testdata")

// TestSumsAreThoseOfKubernetes compares the file of checksums with the definitions of the models
// that allot serves.
func TestSumsAreThoseOfKubernetes(t *testing.T) {
	const file = "../../../../api/openapi/testdata/upstream.sums"
	ref := func(model string) spec.Ref { return spec.MustCreateRef("#/definitions/" + model) }
	generated := upstream.GetOpenAPIDefinitions(ref)
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for line := range strings.Lines(string(want)) {
		if strings.HasPrefix(line, "#") {
			out.WriteString(line)
		}
	}
	for _, model := range slices.Sorted(maps.Keys(openapi.Definitions(ref))) {
		definition, ok := generated[model]
		if !ok {
			continue // a type that only allot has
		}
		structure, err := openapi.Structure(&definition.Schema)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := openapi.Sum(structure)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(model + " " + sum + "\n")
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("%s (-file +Kubernetes; -rewrite accepts it):\n%s", file, diff)
	}
}
