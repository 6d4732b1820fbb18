package model

import "testing"

// KEP-5194, R15: the consumer that is added to status.reservedFor.
func TestReservation(t *testing.T) {
	workload := Consumer{APIGroup: "example.com", Resource: "workloads", Name: "w", UID: "w"}
	pod, other, group := PodConsumer("p", "p"), PodConsumer("q", "q"), GroupConsumer("g", "g")
	allocated, anyPod := &Allocation{}, &Allocation{ReservedForAnyPod: true}
	for name, c := range map[string]struct {
		claim  Claim
		use    Use
		want   Consumer
		anyPod bool
	}{
		"a pod": {Claim{}, Use{Consumer: pod, Allocates: true}, pod, false},
		"a second pod": {Claim{Allocation: allocated, Consumers: []Consumer{other}},
			Use{Consumer: pod}, pod, false},
		"a pod that stands there": {Claim{Allocation: allocated, Consumers: []Consumer{pod}}, Use{Consumer: pod},
			Consumer{}, false},
		"the reference, with the allocation": {Claim{ReservedFor: &workload}, Use{Consumer: pod, Allocates: true}, workload,
			true},
		"not after the allocation": {Claim{ReservedFor: &workload, Allocation: allocated}, Use{Consumer: pod}, pod,
			false},
		"not twice": {Claim{ReservedFor: &workload, Allocation: anyPod}, Use{Consumer: pod}, pod,
			false},
		"a second pod, for any pod": {Claim{ReservedFor: &workload, Allocation: anyPod,
			Consumers: []Consumer{workload}}, Use{Consumer: pod}, Consumer{}, false},
		"for any pod, but pods alone hold it": {Claim{ReservedFor: &workload, Allocation: anyPod,
			Consumers: []Consumer{other}}, Use{Consumer: pod}, pod, false},
		"a group before the reference": {Claim{ReservedFor: &workload},
			Use{Consumer: group, ThroughGroup: true, Allocates: true}, group, false},
		"a group beside the reference": {Claim{ReservedFor: &workload, Allocation: anyPod,
			Consumers: []Consumer{workload}}, Use{Consumer: group, ThroughGroup: true}, group, false},
		"a pod beside a group": {Claim{Allocation: allocated, Consumers: []Consumer{group}},
			Use{Consumer: pod}, pod, false},
	} {
		add, anyPod, needed := c.claim.Reservation(c.use)
		if add != c.want || anyPod != c.anyPod || needed != (c.want != Consumer{}) {
			t.Errorf("%s: %v any pod %t needed %t", name, add, anyPod, needed)
		}
	}
}
