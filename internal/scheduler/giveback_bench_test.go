package scheduler

import (
	"fmt"
	"testing"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
)

// BenchmarkUnused looks for what a gang of 9,216 is to give back that was left with a claim each,
// as by a crash before its binds.
func BenchmarkUnused(b *testing.B) {
	const members = 9216
	server := newServer(b)
	server.addGang("g", members+1)
	for i := range members {
		name := fmt.Sprintf("g-%d", i)
		server.addPod(name, "g", own(name))
		server.addClaim(name, 1)
		claim := server.claim(name).DeepCopy()
		claim.Status.Allocation = &resource.AllocationResult{}
		claim.Status.ReservedFor = []model.Consumer{model.PodConsumer(name, server.pod(name).UID)}
		put(server, claimed, claim)
	}
	x := start(b, server)
	x.s.feed.Apply(x.s.state)
	unit, _ := x.s.state.Unit(model.UnitKey{Group: true, Key: model.Key{Namespace: ns, Name: "g"}})
	for b.Loop() {
		if n := len(x.s.usage.Unused(unit)); n != members {
			b.Fatalf("%d claims", n)
		}
	}
}
