package reason

import "github.com/allot-dev/allot/internal/sched/nodefit"

// causes are the causes of units that do not fit, in the order of the checks: a node that failed at
// a later one lacked less.
var causes = []struct {
	check nodefit.Check
	cause string
}{
	{nodefit.CheckUnschedulable, "NodeUnschedulable"},
	{nodefit.CheckTaint, "NodeTaint"},
	{nodefit.CheckNodeAffinity, "NodeAffinity"},
	{nodefit.CheckDomain, "Topology"},
	{nodefit.CheckVolume, "Volume"},
	{nodefit.CheckClaimNode, "Devices"},
	{nodefit.CheckResource, "Resources"},
	{nodefit.CheckHostPort, "HostPort"},
	{nodefit.CheckVolumeLimit, "Volume"},
	{nodefit.CheckPodAffinity, "PodAffinity"},
	{nodefit.CheckPodAnti, "PodAffinity"},
	{nodefit.CheckForbidden, "PodAffinity"},
	{nodefit.CheckSpread, "TopologySpread"},
	{nodefit.CheckDevices, "Devices"},
	{nodefit.CheckMapped, "Devices"},
	{nodefit.CheckDrawBudget, "Devices"},
	{nodefit.CheckDrawLimit, "Devices"},
	{nodefit.CheckTogether, "Together"},
}

// Cause returns one word for the reasons, of a small fixed set: the code, and if the unit does not
// fit, the check that the closest nodes failed.
func (r *Reasons) Cause() string {
	if r.Code != Unschedulable {
		return string(r.Code)
	}
	cause, last := string(Unschedulable), -1
	for i := range r.Pods {
		if r.Pods[i].Alloc != nil {
			return "Devices"
		}
		for j := range r.Pods[i].Failures {
			for at := range causes {
				if causes[at].check == r.Pods[i].Failures[j].Check && at > last {
					cause, last = causes[at].cause, at
				}
			}
		}
	}
	return cause
}

// Causes returns all values of Cause, each once.
func Causes() []string {
	all := []string{
		string(GroupMissing), string(BelowQuorum), string(Gated), string(Waiting), string(Unschedulable),
		string(Undecided), string(LeftOver),
	}
	known := map[string]bool{}
	for i := range causes {
		if cause := causes[i].cause; !known[cause] {
			known[cause] = true
			all = append(all, cause)
		}
	}
	return all
}
