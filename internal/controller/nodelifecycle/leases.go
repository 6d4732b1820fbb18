package nodelifecycle

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// leaseTimes maps names of Leases to renewal times.
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

// renewal returns the renewal time of a Lease, or zero if there is none.
func (t leaseTimes) renewal(name string) time.Time {
	if name == "" {
		return time.Time{}
	}
	return t[name]
}
