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

// Parent is the workload of a history.
type Parent struct {
	Owner      metav1.Object
	Kind       schema.GroupVersionKind
	Template   *core.PodTemplateSpec
	HashLabel  string // label of revisions with their hash
	Collisions int32  // number of hash collisions of the workload's templates
}

// Choice is the action for the revision of the current template.
type Choice struct {
	// Same lists the revisions with the current template, the oldest first. There are several only
	// if others were created manually.
	Same []*appsv1.ControllerRevision
	// Raise is the last of Same with its new number; nil if it is the newest revision already.
	Raise *appsv1.ControllerRevision
	// Number is the number of a revision to create; 0 if one exists.
	Number int64
}

// Choose finds the current template among the parent's revisions, which may be in any order.
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

// nextNumber returns a number above those of all revisions. A user may have used the largest
// possible number; then several revisions have it, and younger ones count as newer.
func nextNumber(sorted []*appsv1.ControllerRevision) int64 {
	if len(sorted) == 0 {
		return 1
	}
	last := sorted[len(sorted)-1].Revision
	return last + min(1, math.MaxInt64-last)
}

// holds reports whether a revision has the current template, which data encodes. The bytes may
// differ for equal templates, because another version wrote empty fields or another order.
func holds(revision *appsv1.ControllerRevision, data []byte, current *core.PodTemplateSpec) bool {
	if bytes.Equal(revision.Data.Raw, data) {
		return true
	}
	held, err := Template(revision)
	return err == nil && equality.Semantic.DeepEqual(held, current)
}

// byNumber sorts revisions from old to new.
func byNumber(a, b *appsv1.ControllerRevision) int {
	return cmp.Or(
		cmp.Compare(a.Revision, b.Revision),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		strings.Compare(a.Name, b.Name),
	)
}

// surplus returns the oldest revisions beyond limit that are not in use.
func surplus(
	revisions []*appsv1.ControllerRevision, inUse func(*appsv1.ControllerRevision) bool, limit *int32,
) []*appsv1.ControllerRevision {
	if limit == nil || *limit < 0 {
		return nil
	}
	idle := slices.DeleteFunc(slices.SortedFunc(slices.Values(revisions), byNumber), inUse)
	return idle[:max(0, len(idle)-int(*limit))]
}
