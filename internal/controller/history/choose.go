package history

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	core "github.com/allot-dev/allot/api/core/v1"
)

// Parent is a workload as far as its history goes.
type Parent struct {
	Owner      metav1.Object
	Kind       schema.GroupVersionKind
	Template   *core.PodTemplateSpec
	HashLabel  string // the label in which revisions bear their hash
	Collisions int32  // how often two templates of the workload had one hash
}

// Choice is what is to be done about the revision of the current template.
type Choice struct {
	// Same are the revisions that hold the current template, the oldest first. More than one come from elsewhere.
	Same []*appsv1.ControllerRevision
	// Raise is the last of Same with the number that it should have; nil if it is the newest revision already.
	Raise *appsv1.ControllerRevision
	// Number is that of a revision to be made; 0 if there are some.
	Number int64
}

// Choose looks for the current template among the parent's revisions, which may be in any order.
func Choose(p Parent, revisions []*appsv1.ControllerRevision) (Choice, error) {
	data, err := encode(p.Template)
	if err != nil {
		return Choice{}, err
	}
	sorted := slices.SortedFunc(slices.Values(revisions), byNumber)
	var choice Choice
	for _, revision := range sorted {
		if holds(revision, data, p.Template) {
			choice.Same = append(choice.Same, revision)
		}
	}
	next := nextNumber(sorted)
	if len(choice.Same) == 0 {
		choice.Number = next
	} else if last := choice.Same[len(choice.Same)-1]; last != sorted[len(sorted)-1] && last.Revision < next {
		raised := *last
		raised.Revision = next
		choice.Raise = &raised
	}
	return choice, nil
}

// nextNumber is above those of all revisions, in their order. Nothing is above the last number, which users may give to a
// revision of their own: then several have it, and of these the younger ones count as newer.
func nextNumber(sorted []*appsv1.ControllerRevision) int64 {
	if len(sorted) == 0 {
		return 1
	}
	last := sorted[len(sorted)-1].Revision
	return last + min(1, math.MaxInt64-last)
}

// holds compares what a revision holds with the current template, of which data is the encoded form. Bytes may differ
// although the templates are equal: another version wrote empty fields, or in another order.
func holds(revision *appsv1.ControllerRevision, data []byte, current *core.PodTemplateSpec) bool {
	if bytes.Equal(revision.Data.Raw, data) {
		return true
	}
	held, err := Template(revision)
	return err == nil && equality.Semantic.DeepEqual(held, current)
}

// byNumber orders revisions from old to new.
func byNumber(a, b *appsv1.ControllerRevision) int {
	return cmp.Or(
		cmp.Compare(a.Revision, b.Revision),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		strings.Compare(a.Name, b.Name),
	)
}

// surplus are the oldest revisions beyond limit, among those that are not in use.
func surplus(revisions []*appsv1.ControllerRevision, inUse func(*appsv1.ControllerRevision) bool, limit *int32) []*appsv1.ControllerRevision {
	if limit == nil || *limit < 0 {
		return nil
	}
	idle := slices.DeleteFunc(slices.SortedFunc(slices.Values(revisions), byNumber), inUse)
	return idle[:max(0, len(idle)-int(*limit))]
}
