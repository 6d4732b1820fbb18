package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/model"
)

// Kinds returns the kinds that can be explained, as a person writes them.
func Kinds() []string { return []string{"pod", "podgroup", "job", "claim", "device", "node"} }

// Explain explains an object of one of Kinds.
func (e *Explainer) Explain(kind string, key model.Key) (*Report, error) {
	switch kind {
	case "pod":
		return e.Pod(key)
	case "podgroup":
		return e.PodGroup(key)
	case "job":
		return e.Job(key)
	case "claim":
		return e.Claim(key)
	case "device":
		return e.Device(key.Name)
	case "node":
		return e.Node(key.Name)
	}
	return nil, fmt.Errorf("kind %q cannot be explained; %s can", kind, strings.Join(Kinds(), ", "))
}

// KindOf returns the kind that a person means by a word such as "pods" or "po", or "".
func KindOf(word string) string {
	for _, kind := range Kinds() {
		if slices.Contains(aliases(kind), strings.ToLower(word)) {
			return kind
		}
	}
	return ""
}

func aliases(kind string) []string {
	short := map[string][]string{
		"pod": {"po"}, "podgroup": {"pg"}, "claim": {"resourceclaim", "resourceclaims"}, "node": {"no"},
	}
	return append(short[kind], kind, kind+"s")
}
