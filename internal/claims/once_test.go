package claims_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/claims/claimstest"
)

// store is an API server for claims that guarantees only unique names.
type store struct {
	claims map[string]*resource.ResourceClaim
}

func (s *store) create(c *resource.ResourceClaim) (*resource.ResourceClaim, bool) {
	if there, taken := s.claims[c.Name]; taken {
		return there, false
	}
	s.claims[c.Name] = c
	return c, true
}

// settle acts on the desired claims as a controller does, with a cache that may be stale. It may
// crash after any write (steps), and returns the record if it does not.
func settle(t *rapid.T, s *store, owner claims.Owner, facts claims.Facts, steps int) (record map[string]string) {
	for range 20 {
		want := claims.DesiredClaims(owner, facts)
		for _, name := range want.Ask {
			if c, ok := s.claims[name]; ok {
				facts.Found(c)
			} else {
				facts.Lost(name)
			}
		}
		for _, c := range want.Create {
			if steps--; steps < 0 {
				return nil
			}
			c, _ = s.create(c)
			facts.Found(c)
		}
		if want.Settled() {
			if want.Record == nil {
				return nil
			}
			record = map[string]string{}
			for _, r := range want.Record {
				record[r.Name] = *r.ResourceClaimName
			}
			return record
		}
	}
	t.Fatalf("does not settle")
	return nil
}

// TestNeverTwoClaims drives controllers that see any part of what there is, die in
// the middle, and meet claims of others under the names that they want (F11). At most
// one claim per entry may exist at any time, and the record never changes.
func TestNeverTwoClaims(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		world, err := claimstest.Parse("template x\npod p claims=a:template/x,b:template/x\n")
		if err != nil {
			t.Fatal(err)
		}
		s := &store{claims: map[string]*resource.ResourceClaim{}}
		templates := map[claims.Source]claims.Template{}
		for _, tmpl := range world.Templates {
			templates[claims.FromTemplate(tmpl).Source] = claims.FromTemplate(tmpl)
		}
		if rapid.Bool().Draw(t, "first name taken") {
			wanted := claims.DesiredClaims(claims.PodOwner(world.Pods[0], nil), claims.Facts{Templates: templates}).Create[0]
			s.claims[wanted.Name] = &resource.ResourceClaim{ObjectMeta: wanted.ObjectMeta}
			s.claims[wanted.Name].OwnerReferences = nil
		}
		var written map[string]string
		for i := range rapid.IntRange(1, 12).Draw(t, "passes") {
			pod := world.Pods[0].DeepCopy()
			if rapid.Bool().Draw(t, fmt.Sprintf("pass %d sees the status", i)) {
				world.Merge(statusWorld(t, written))
				pod = world.Pods[0].DeepCopy()
			}
			facts := claims.Facts{Templates: templates}
			for _, name := range names(s) {
				if rapid.Bool().Draw(t, fmt.Sprintf("pass %d sees %s", i, name)) {
					facts.Claims = append(facts.Claims, s.claims[name])
				}
			}
			record := settle(t, s, claims.PodOwner(pod, nil), facts, rapid.IntRange(0, 4).Draw(t, "dies after"))
			for entry, claim := range record {
				if before, ok := written[entry]; ok && before != claim {
					t.Fatalf("entry %s went from %s to %s", entry, before, claim)
				}
			}
			if record != nil {
				written = record
			}
			once(t, s)
		}
	})
}

func once(t *rapid.T, s *store) {
	count := map[string]int{}
	for _, c := range s.claims {
		if len(c.OwnerReferences) > 0 {
			count[c.Annotations[claims.PodClaimAnnotation]]++
		}
	}
	for entry, n := range count {
		if n > 1 {
			t.Fatalf("%d claims for entry %s: %v", n, entry, names(s))
		}
	}
}

func statusWorld(t *rapid.T, written map[string]string) *claimstest.World {
	text := "pod p claims=a:template/x,b:template/x"
	if len(written) > 0 {
		text += " status=a:" + written["a"] + ",b:" + written["b"]
	}
	w, err := claimstest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func names(s *store) []string {
	var out []string
	for name := range s.claims {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
