package claim

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// Kind is the kind of a Key.
type Kind string

// The reconciled kinds.
const (
	Pod      Kind = "pod"
	PodGroup Kind = "podgroup"
	Tree     Kind = "compositepodgroup"
	Claim    Kind = "claim"
)

// Key identifies an object to reconcile.
type Key struct {
	Kind            Kind
	Namespace, Name string
}

func (k Key) String() string { return string(k.Kind) + " " + k.Namespace + "/" + k.Name }

func keyOf(kind Kind, obj metav1.Object) Key { return Key{kind, obj.GetNamespace(), obj.GetName()} }

// lane returns the priority of a key: owners that lack claims first, because status updates can
// wait (R44), and claims last, because new pods must not wait for the release of thousands of
// claims (P36).
func (c *Controller) lane(key Key) reconciler.Lane {
	switch {
	case key.Kind == Claim:
		return reconciler.Background
	case c.waitSince.isWaiting(key):
		return reconciler.Fast
	}
	return reconciler.Slow
}
