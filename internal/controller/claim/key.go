package claim

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// Kind is what a Key names.
type Kind string

// The kinds that are reconciled.
const (
	Pod      Kind = "pod"
	PodGroup Kind = "podgroup"
	Claim    Kind = "claim"
)

// Key names an object to be looked at.
type Key struct {
	Kind            Kind
	Namespace, Name string
}

func (k Key) String() string { return string(k.Kind) + " " + k.Namespace + "/" + k.Name }

func keyOf(kind Kind, obj metav1.Object) Key { return Key{kind, obj.GetNamespace(), obj.GetName()} }

// lane has the owners that lack claims go first, since what is recorded can wait for a moment (R44), and claims last: when
// thousands are released, the pods that come meanwhile are not to wait for that (P36).
func (c *Controller) lane(key Key) reconciler.Lane {
	switch {
	case key.Kind == Claim:
		return reconciler.Background
	case c.heard.waits(key):
		return reconciler.Fast
	}
	return reconciler.Slow
}
