package claim

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
