package model

import "cmp"

// HolderKind is the kind of a Holder.
type HolderKind int

const (
	// ByClaim is a claim with the device in its allocation.
	ByClaim HolderKind = iota
	// ByReservation is the place of a unit that waits for victims to terminate: see Nomination. Until
	// they have terminated, the device may have their claim as a holder, too.
	ByReservation
	// ByQuarantine is a device that is not allocated for some time: see DeviceStore.Quarantine.
	ByQuarantine
)

// Holder is the reason why a device cannot be allocated: a claim, a reservation or a quarantine.
type Holder struct {
	Kind HolderKind
	// Claim has the device, or is the one that the device is reserved for. It is empty for a
	// quarantine.
	Claim Key
}

// String describes the holder in a message whose subject is the device.
func (h Holder) String() string {
	switch h.Kind {
	case ByReservation:
		return "reserved for claim " + h.Claim.String()
	case ByQuarantine:
		return "excluded for some time because its binding conditions failed"
	}
	return "held by claim " + h.Claim.String()
}

func compareHolders(a, b Holder) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), CompareKeys(a.Claim, b.Claim))
}

// DeviceReservation keeps devices for a claim.
type DeviceReservation struct {
	Claim      Key
	Allocation *Allocation
}

func (r *DeviceReservation) holder() Holder { return Holder{Kind: ByReservation, Claim: r.Claim} }
