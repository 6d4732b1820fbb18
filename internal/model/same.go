package model

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
)

// What follows says whether two versions of an object mean the same to placement. An object changes for many reasons
// that do not (a condition, an annotation, a heartbeat), and a change that means nothing wakes nobody.

func samePod(a, b *Pod) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	x.Version, y.Version = 0, 0
	x.Started, y.Started = time.Time{}, time.Time{} // nobody waits for that
	x.Shape, y.Shape = nil, nil
	return sameShape(a.Shape, b.Shape) && reflect.DeepEqual(x, y)
}

func sameShape(a, b *Shape) bool {
	return a == b || a.ID == b.ID && a.Namespace == b.Namespace && equality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		sameAmounts(a.Requests, b.Requests)
}

func sameGroup(a, b *Group) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	x.Version, y.Version = 0, 0
	return reflect.DeepEqual(x, y)
}

// sameClaim leaves out the finalizer, too: whoever allocates the claim sees to it.
func sameClaim(a, b *Claim) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	x.Version, y.Version = 0, 0
	x.Protected, y.Protected = false, false
	return a == b || equality.Semantic.DeepEqual(x, y)
}

func sameClass(a, b *Class) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	x.Version, y.Version = 0, 0
	return equality.Semantic.DeepEqual(x, y)
}

func sameSlice(a, b *Slice) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	x.Version, y.Version = 0, 0
	return equality.Semantic.DeepEqual(x, y)
}
