package model

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
)

// The functions below report whether two versions of an object are equal for placement. Many
// changes of an object are not relevant (a condition, an annotation, a heartbeat), and an
// irrelevant change must not wake a unit.

func samePod(a, b *Pod) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	x.Version, y.Version = 0, 0
	x.Started, y.Started = time.Time{}, time.Time{} // no unit waits for a change of Started
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

// sameClaim ignores the finalizer, which is added when the claim is allocated.
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
