package scheduler

import (
	"fmt"
	"testing"
	"time"

	apiresource "k8s.io/apimachinery/pkg/api/resource"

	core "github.com/allot-dev/allot/api/core/v1"
)

// BenchmarkVictimsGo has all pods of a gang leave, and seen to be going one by one: what is done
// for one must not grow with those that are left.
func BenchmarkVictimsGo(b *testing.B) {
	for _, members := range []int{1024, 9216} {
		b.Run(fmt.Sprint(members), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				x := victims(b, members)
				b.StartTimer()
				for x.see(1) {
					for x.step() {
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*members), "µs/victim")
		})
	}
}

// victims is a session that has told all members of a gang to leave, and has not seen yet that they
// do.
func victims(b *testing.B, members int) *session {
	server := newServer(b)
	server.graceful = true
	for i := range members/2000 + 1 {
		server.addNode(fmt.Sprintf("n%d", i), 2000, 0)
	}
	server.addGang("low", int32(members))
	server.addMembers("low", members)
	x := start(b, server)
	x.pass(time.Second) // until the condition is there
	server.addPod("high", "", priority(7), func(pod *core.Pod) {
		pod.Spec.Containers[0].Resources.Requests["cpu"] = *apiresource.NewQuantity(2000, apiresource.DecimalSI)
	})
	for x.see(1) {
	}
	x.step()
	for x.job() {
	}
	x.step()
	if len(x.s.evicting.byPod) != members {
		b.Fatalf("%d pods are to leave", len(x.s.evicting.byPod))
	}
	return x
}
