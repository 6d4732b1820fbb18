package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/model"
)

// Kinds returns the kinds that can be explained, as a person writes them.
func Kinds() []string {
	return []string{"pod", "podgroup", "compositepodgroup", "job", "claim", "device", "node"}
}

// Explain explains an object of one of Kinds.
func (e *Explainer) Explain(kind string, key model.Key) (*Report, error) {
	switch kind {
	case "pod":
		return e.Pod(key)
	case "podgroup":
		return e.PodGroup(key)
	case "compositepodgroup":
		return e.CompositePodGroup(key)
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

// Names returns the names of the objects of one of Kinds in a namespace, sorted.
func (e *Explainer) Names(kind, namespace string) []string {
	o := &e.snap.Objects
	switch kind {
	case "pod":
		return namesIn(namespace, o.Pods)
	case "podgroup":
		return namesIn(namespace, o.PodGroups)
	case "compositepodgroup":
		return namesIn(namespace, o.Composites)
	case "job":
		return namesIn(namespace, o.Jobs)
	case "claim":
		return namesIn(namespace, o.Claims)
	case "device":
		return e.DeviceNames()
	case "node":
		return namesIn("", o.Nodes)
	}
	return nil
}

func namesIn[T client.Object](namespace string, objects []T) []string {
	var names []string
	for _, object := range objects {
		if object.GetNamespace() == namespace {
			names = append(names, object.GetName())
		}
	}
	slices.Sort(names)
	return names
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
