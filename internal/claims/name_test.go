package claims

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// label generates a DNS label, and subdomain a DNS subdomain: names of entries and owners.
func label(maxLength int) *rapid.Generator[string] {
	return rapid.StringMatching(fmt.Sprintf("[a-z0-9]([a-z0-9-]{0,%d}[a-z0-9])?", maxLength-2))
}

func subdomain() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(label(63), 1, 8).Draw(t, "labels")
		name := strings.Join(parts, ".")
		return strings.TrimRight(name[:min(len(name), 253)], ".-")
	})
}

func TestNameIsValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		owner, entry := subdomain().Draw(t, "owner"), label(63).Draw(t, "entry")
		base := baseName(owner, entry)
		name := base + "-" + suffix(types.UID(rapid.String().Draw(t, "uid")), entry, rapid.IntRange(0, 9).Draw(t, "attempt"))
		if len(name) > maxNameLength {
			t.Errorf("%q has %d characters", name, len(name))
		}
		if errs := validation.NameIsDNSSubdomain(name, false); len(errs) > 0 {
			t.Errorf("%q: %v", name, errs)
		}
		if !isCut(base, owner, entry) {
			t.Errorf("%q has not a part of both %q and %q", base, owner, entry)
		}
		if len(owner)+len(entry) < maxBaseLength && base != owner+"-"+entry {
			t.Errorf("%q is cut without need", base)
		}
	})
}

// isCut reports whether base is a prefix of owner, a hyphen, and a prefix of entry.
func isCut(base, owner, entry string) bool {
	for i := 1; i < len(base)-1; i++ {
		if base[i] == '-' && strings.HasPrefix(owner, base[:i]) && strings.HasPrefix(entry, base[i+1:]) {
			return true
		}
	}
	return false
}

// TestLongNames has the cases of F37, with the base that is to come out.
func TestLongNames(t *testing.T) {
	for _, c := range []struct{ owner, entry, want string }{
		{"pg", "shared", "pg-shared"},
		{strings.Repeat("a", 49) + "." + strings.Repeat("b", 10), "shared", strings.Repeat("a", 49) + "-shared"},
		{strings.Repeat("a.", 126) + "a", strings.Repeat("c", 63), strings.Repeat("a.", 21) + "a-" + strings.Repeat("c", 12)},
		{strings.Repeat("p", 63), strings.Repeat("c", 63), strings.Repeat("p", 28) + "-" + strings.Repeat("c", 28)},
		{"p", strings.Repeat("c", 63), "p-" + strings.Repeat("c", 55)},
	} {
		if got := baseName(c.owner, c.entry); got != c.want {
			t.Errorf("baseName(%q, %q) = %q, want %q", c.owner, c.entry, got, c.want)
		}
	}
}

// TestNamesDiffer: owners that differ in the last character only, or only in the
// UID (F19, F37), have claims of different names; and so have further attempts.
func TestNamesDiffer(t *testing.T) {
	seen := map[string]string{}
	for i := range 1000 {
		for attempt := range 3 {
			uid := types.UID(fmt.Sprintf("1f2e3d4c-0000-4000-8000-%012d", i))
			key := fmt.Sprintf("%s/%d", uid, attempt)
			name := suffix(uid, "shared", attempt)
			if other, ok := seen[name]; ok {
				// 3000 of 14 million: a collision is possible, and is solved by the next
				// attempt; these do not collide.
				t.Errorf("%s and %s are both %q", key, other, name)
			}
			seen[name] = key
		}
	}
}
