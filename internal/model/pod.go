package model

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pod contains the fields of a pod that placement uses.
type Pod struct {
	Key           Key
	UID           types.UID
	Version       uint64
	SchedulerName string
	Priority      int32
	Created       time.Time
	// when the kubelet accepted it, or, while that is unknown, when it was created
	Started       time.Time
	NeverPreempts bool      // preemptionPolicy Never: it preempts no other pod
	Group         string    // PodGroup in the pod's namespace, or ""
	Set           types.UID // controlling ReplicaSet, StatefulSet or ReplicationController, or ""
	Controlled    bool      // has a controller, which replaces it when it is deleted
	Claims        []PodClaim
	Mounts        []Mount
	// Extended is the claim through which the pod gets devices instead of extended resources; it
	// need not exist. It is "" if the pod requests no such resource, or is on a node that has them
	// itself.
	Extended string
	// Mapped means that the pod's status names the Extended claim, which cannot be reverted.
	Mapped bool
	Shape  *Shape // shared by all pods with equal fields; never nil

	Draws        []Draw // resources of the node that are used through claims
	Node         string // node that it is bound to, or ""
	Gated        bool   // has scheduling gates
	Deleting     bool
	DeletionTime time.Time // deletionTimestamp, if it is being deleted
	Victim       bool      // chosen as a victim of preemption: has the condition DisruptionTarget
	Finished     bool      // phase Succeeded or Failed
	Foreign      bool      // has another schedulerName
	StandIn      bool      // keeps a place for a pod and does not exist in the API: see Nomination
}

// PodClaim is a resolved entry of spec.resourceClaims (see package claims). Entries that need no
// claim are not included.
type PodClaim struct {
	Entry   string    // name in spec.resourceClaims
	Claim   string    // ResourceClaim in the pod's namespace; "" while it is not known
	Owner   types.UID // UID that the claim's controller must have; "" for any
	Group   bool      // used through the PodGroup, which is then the consumer
	Problem string    // message why Claim is ""
	// Containers are the containers that use the entry, one for each reference.
	Containers []string
}

// Shape contains the fields of a pod, except its claims, that decide where it can be placed. Pods
// with equal fields share a Shape.
type Shape struct {
	ID        string // equal for shapes that are equal except for labels and images
	Namespace string
	Labels    map[string]string // labels that pod affinity selects by
	Requests  Resources         // includes 1 of the resource "pods"
	// DrawBudgets has an entry for each pod-level request (spec.resources): the amount that exceeds
	// the containers' requests and is left for draws of devices.
	DrawBudgets Resources
	// DrawLimits are the remainders of the pod-level limits for draws of devices.
	DrawLimits       []DrawLimit
	NodeSelector     map[string]string
	Affinity         *corev1.Affinity
	Tolerations      []corev1.Toleration
	HostPorts        []HostPort
	ExtendedRequests []ExtendedRequest // sorted by resource, then by container
	Images           []string          // images of containers and image volumes, each with its tag
	Terms            Terms             // pod affinity, anti-affinity and topology spread constraints
}

// HostPort is a port that a pod uses on its node.
type HostPort struct {
	IP       string // "0.0.0.0" for all addresses
	Protocol corev1.Protocol
	Port     int32
}

// ClaimNames yields the claims of the pod, as far as they are known.
func (p *Pod) ClaimNames(yield func(string) bool) {
	for i := range p.Claims {
		if name := p.Claims[i].Claim; name != "" && !yield(name) {
			return
		}
	}
	if p.Extended != "" {
		yield(p.Extended)
	}
}

// UnitKey returns the unit that the pod belongs to.
func (p *Pod) UnitKey() UnitKey {
	if p.Group != "" {
		return UnitKey{Group: true, Key: p.GroupKey()}
	}
	return UnitKey{Key: p.Key}
}

// GroupKey returns the key of the pod's PodGroup. It is only meaningful if Group is set.
func (p *Pod) GroupKey() Key { return Key{Namespace: p.Key.Namespace, Name: p.Group} }

// Live reports whether the pod is neither finished nor being deleted.
func (p *Pod) Live() bool { return !p.Finished && !p.Deleting }

// Ready reports whether the pod has no node and can be placed.
func (p *Pod) Ready() bool { return p.Node == "" && !p.Gated && !p.Foreign && p.Live() }

// Counts reports whether the pod uses resources of its node. A pod that is being deleted uses them
// until it is deleted.
func (p *Pod) Counts() bool { return p.Node != "" && !p.Finished }
