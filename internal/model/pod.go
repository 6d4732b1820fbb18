package model

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pod is what placement needs to know of a pod.
type Pod struct {
	Key           Key
	UID           types.UID
	Version       uint64
	SchedulerName string
	Priority      int32
	Created       time.Time
	Started       time.Time // when its node took it; as long as it is not known, when it was created
	Never         bool      // preemptionPolicy Never: nobody makes room for it
	Group         string    // PodGroup in the pod's namespace, or ""
	Set           types.UID // ReplicaSet, StatefulSet or ReplicationController that the pod is of, or ""
	Claims        []PodClaim
	Mounts        []Mount
	// Extended is the claim through which the pod gets devices in the place of extended resources; there need not be one.
	// It is "" if the pod asks for no such resource, or is on a node that has them itself.
	Extended string
	// Mapped: its status names that claim, which cannot be taken back.
	Mapped bool
	Shape  *Shape // shared by all pods that are alike; never nil

	Draws    []Draw // from its node, through claims
	Node     string // bound to it, or ""
	Gated    bool   // has scheduling gates
	Deleting bool
	Ends     time.Time // when it should be gone, if it is being deleted
	Victim   bool      // was chosen to make room for others: the condition DisruptionTarget says so
	Finished bool      // phase Succeeded or Failed
	Foreign  bool      // another scheduler places it
	StandIn  bool      // is no pod of the API, but keeps a place for one: see Nomination
}

// PodClaim is one entry of spec.resourceClaims after resolution (package claims decides what an entry means). Entries
// that need no claim are left out.
type PodClaim struct {
	Entry   string    // name in spec.resourceClaims
	Claim   string    // ResourceClaim in the pod's namespace; "" while it is not known
	Owner   types.UID // must be the claim's controller; "" for any
	Group   bool      // the pod uses it through its PodGroup, which is then its consumer
	Problem string    // why Claim is "", for people
	// Containers are those that use the entry, one for each reference.
	Containers []string
}

// Shape is what makes pods alike for placement, apart from their claims.
type Shape struct {
	ID        string // equal for shapes that differ in nothing, or in labels and images only
	Namespace string
	Labels    map[string]string // what pod affinity selects by
	Requests  Resources         // the pod itself included, as one of "pods"
	// DrawBudgets has an entry for each resource that the pod requests as a whole (spec.resources): how much of that
	// request the containers' requests leave for what devices draw from the node.
	DrawBudgets  Resources
	NodeSelector map[string]string
	Affinity     *corev1.Affinity
	Tolerations  []corev1.Toleration
	HostPorts    []HostPort
	Asks         []Ask    // by resource, then by container
	Images       []string // of its containers and image volumes, each with its tag
	Terms        Terms    // pod (anti-)affinity and spread, parsed
}

// HostPort is a port that a pod takes on its node.
type HostPort struct {
	IP       string // "0.0.0.0" for all addresses
	Protocol corev1.Protocol
	Port     int32
}

// ClaimNames are the claims that the pod may use, as far as they are known.
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

// UnitKey names the unit that the pod is placed with.
func (p *Pod) UnitKey() UnitKey {
	if p.Group != "" {
		return UnitKey{Group: true, Key: p.GroupKey()}
	}
	return UnitKey{Key: p.Key}
}

// GroupKey is the key of the pod's PodGroup; only meaningful if Group is set.
func (p *Pod) GroupKey() Key { return Key{Namespace: p.Key.Namespace, Name: p.Group} }

// Live says whether the pod runs or may still run: neither finished nor being deleted.
func (p *Pod) Live() bool { return !p.Finished && !p.Deleting }

// Ready says whether the pod waits for a node and may get one.
func (p *Pod) Ready() bool { return p.Node == "" && !p.Gated && !p.Foreign && p.Live() }

// Counts says whether the pod uses up something on its node. A pod that is being deleted does until it is gone.
func (p *Pod) Counts() bool { return p.Node != "" && !p.Finished }
