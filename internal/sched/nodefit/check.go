package nodefit

// Check is a test that a node has to pass for a pod.
type Check string

// The checks in the order in which they are made; a node is counted at the first that it fails.
const (
	CheckUnschedulable Check = "unschedulable"
	CheckTaint         Check = "taint"
	CheckNodeAffinity  Check = "node affinity"
	CheckDomain        Check = "domain" // outside the one domain that the unit has to be in
	CheckVolume        Check = "volume"
	CheckClaimNode     Check = "claim node"
	CheckResource      Check = "resource"
	CheckHostPort      Check = "host port"
	CheckVolumeLimit   Check = "volume limit"
	CheckPodAffinity   Check = "pod affinity"
	CheckPodAnti       Check = "pod anti-affinity"
	CheckForbidden     Check = "anti-affinity of others"
	CheckSpread        Check = "topology spread"
	CheckDevices       Check = "devices"
	CheckMapped        Check = "mapped claim" // another pod has a claim for node-allocatable resources
	CheckDrawBudget    Check = "draw budget"  // devices draw more than spec.resources of the pod leaves for them
	CheckDrawLimit     Check = "draw limit"   // a container's limit and what devices draw for it exceed the limit of the pod
	CheckTogether      Check = "together"     // fits the pod, but not with the unit's other pods in place
)

// Failure is the check that a node failed. The zero value is no failure.
type Failure struct {
	Check   Check
	Detail  string // the resource, the taint or the claim; failures with the same detail are counted together
	Lacking int64  // how much of a resource is missing
}

// Failed reports whether the node failed a check.
func (f Failure) Failed() bool { return f.Check != "" }
