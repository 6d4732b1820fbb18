package picture

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Picture is the content of the page for a cluster at one time.
type Picture struct {
	Taken   metav1.Time
	Cluster Cluster
	// Unknown lists the kinds that could not be read, and what is not known because of that.
	Unknown []string
	// Kinds are the kinds of devices, which devices name by their index. A later Picture has the same
	// ones, and may have more.
	Kinds []Kind

	// Each list is sorted by key.
	Nodes  []*Node
	Pools  []*Pool
	Units  []*Unit
	Claims []*Claim

	Timeline Timeline
}

// Cluster describes the server.
type Cluster struct {
	Version string `json:"version"`
	// Allot is set if the server is allot's own.
	Allot bool `json:"allot,omitempty"`
	// RackLabel is the node label that says which rack a node is in, or "".
	RackLabel string `json:"rackLabel,omitempty"`
}

// State is the state of a unit or a claim. The words are those of explain.
type State string

// The states of units and claims.
const (
	Waiting      State = "Waiting"
	PartlyPlaced State = "PartlyPlaced"
	Placed       State = "Placed"
	Finished     State = "Finished"
	Terminating  State = "Terminating"
	// Free is a claim without devices that nothing waits for.
	Free State = "Free"
	// Reserved is a claim with devices that no pod on a node uses yet.
	Reserved State = "Reserved"
	InUse    State = "InUse"
)

// Ref names an object of a kind that can be explained: "pod", "podgroup", "claim" or "node".
type Ref struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Key returns the text by which the page finds the object.
func (r Ref) Key() string {
	if r.Namespace == "" {
		return r.Kind + "/" + r.Name
	}
	return r.Kind + "/" + r.Namespace + "/" + r.Name
}

// entry is an entry of a list of a Picture.
type entry[T any] interface {
	*Node | *Pool | *Unit | *Claim
	// Key identifies the entry in its list.
	Key() string
	// equal reports whether the page shows the same of both.
	equal(other T) bool
}

// merge calls f for each key of two sorted lists, with zero values for what a list lacks.
func merge[T entry[T]](before, now []T, f func(before, now T)) {
	var none T
	for len(before) > 0 || len(now) > 0 {
		switch {
		case len(before) == 0 || len(now) > 0 && now[0].Key() < before[0].Key():
			f(none, now[0])
			now = now[1:]
		case len(now) == 0 || before[0].Key() < now[0].Key():
			f(before[0], none)
			before = before[1:]
		default:
			f(before[0], now[0])
			before, now = before[1:], now[1:]
		}
	}
}

// shared replaces the entries that are equal to those of the list before by these. It changes now.
func shared[T entry[T]](before, now []T) []T {
	at := 0
	merge(before, now, func(old, entry T) {
		if entry == nil {
			return
		}
		if old != nil && entry.equal(old) {
			now[at] = old
		}
		at++
	})
	return now
}
