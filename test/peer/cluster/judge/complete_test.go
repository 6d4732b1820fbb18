package judge

import (
	"testing"

	"github.com/allot-dev/allot/api"
	"github.com/allot-dev/allot/internal/apiserver/registry"
)

// TestEveryKindIsCompared: a kind that both servers have is compared only if Upstream has its
// strategies.
func TestEveryKindIsCompared(t *testing.T) {
	theirs, err := Upstream()
	if err != nil {
		t.Fatal(err)
	}
	for resource, ours := range registry.RulesByResource(api.NewScheme()) {
		if theirs.Scheme.Recognizes(ours.Kind) && theirs.Rules[resource].Create == nil {
			t.Errorf("%s are not compared: upstream.go has no strategies of them", resource)
		}
	}
}
