package nodelifecycle

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// leaseTimes are the times at which the Leases of nodes were renewed, by name of the Lease.
type leaseTimes map[string]time.Time

func readLeases(leases []*coordinationv1.Lease) leaseTimes {
	times := make(leaseTimes, len(leases))
	for _, lease := range leases {
		if lease.Spec.RenewTime != nil {
			times[lease.Name] = lease.Spec.RenewTime.Time
		}
	}
	return times
}

// of returns the time of a Lease; zero if there is none.
func (t leaseTimes) of(name string) time.Time {
	if name == "" {
		return time.Time{}
	}
	return t[name]
}
