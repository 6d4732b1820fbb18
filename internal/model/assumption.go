package model

import "slices"

// Assumption is the change that a plan makes to a claim.
type Assumption struct {
	// claim that the plan creates; it replaces a claim of the pod with other requests
	NewClaim   *Claim
	Allocation *Allocation // nil if the claim is allocated already
	Consumers  []Consumer  // added to status.reservedFor
	AnyPod     bool        // reservedForAnyPod becomes true
}

// remaining returns the part of the assumption that the API does not show yet, or nil. Nothing is
// left if the API contradicts the assumption: the claim was recreated, has other devices, or lost
// its allocation.
func (a *Assumption) remaining(old, now *Claim) *Assumption {
	switch {
	case a == nil || !a.isAbout(old, now):
		return nil
	case a.NewClaim != nil && now.Allocation == nil && !now.HasSameRequests(a.NewClaim):
		return a // now is about to be replaced
	case a.isContradictedBy(now.Allocation):
		return nil
	}
	rest := Assumption{AnyPod: a.AnyPod && (now.Allocation == nil || !now.Allocation.ReservedForAnyPod)}
	if now.Allocation == nil {
		rest.Allocation = a.Allocation
	}
	for _, consumer := range a.Consumers {
		if !now.HasConsumer(consumer) {
			rest.Consumers = append(rest.Consumers, consumer)
		}
	}
	if rest.Allocation == nil && len(rest.Consumers) == 0 && !rest.AnyPod {
		return nil
	}
	return &rest
}

// isAbout reports whether now is the claim that the plan changes or creates, and not another one
// with its name.
func (a *Assumption) isAbout(old, now *Claim) bool {
	if a.NewClaim != nil {
		return a.NewClaim.Controller == now.Controller
	}
	return old.UID == now.UID
}

// isContradictedBy reports whether the claim lost its allocation, or has other devices than those
// of the plan.
func (a *Assumption) isContradictedBy(now *Allocation) bool {
	if now == nil {
		return a.Allocation == nil // the plan relied on one
	}
	return a.Allocation != nil && !sameDevices(a.Allocation, now)
}

func sameDevices(a, b *Allocation) bool {
	if len(a.Devices) != len(b.Devices) {
		return false
	}
	for i := range a.Devices {
		if a.Devices[i].Request != b.Devices[i].Request || DeviceIDOf(a.Devices[i]) != DeviceIDOf(b.Devices[i]) {
			return false
		}
	}
	return true
}

// merge returns both assumptions combined.
func (a *Assumption) merge(more Assumption) *Assumption {
	if a == nil {
		return &more
	}
	both := Assumption{NewClaim: a.NewClaim, Allocation: a.Allocation, AnyPod: a.AnyPod || more.AnyPod}
	if both.Allocation == nil {
		both.Allocation = more.Allocation
	}
	both.Consumers = append(slices.Clip(a.Consumers), more.Consumers...)
	return &both
}
