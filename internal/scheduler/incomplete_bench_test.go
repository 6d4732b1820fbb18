package scheduler

import (
	"fmt"
	"testing"
)

// BenchmarkArrivals has the members of a gang come one by one, and the loop look after each: what
// is done for one that does not make the gang whole must not grow with those that wait already.
func BenchmarkArrivals(b *testing.B) {
	for _, claims := range []string{"shared", "own"} {
		for _, members := range []int{1024, 9216} {
			b.Run(fmt.Sprintf("%s/%d", claims, members), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					x := arrivals(b, members, claims == "own")
					b.StartTimer()
					for x.see(1) {
						for x.step() {
						}
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*(members-1)), "µs/arrival")
			})
		}
	}
}

// arrivals is a session in which all members of a gang but one come, with a claim each or with one
// for all.
func arrivals(b *testing.B, members int, each bool) *session {
	server := newServer(b)
	server.addNode("n", 10, 1)
	server.addClaim("c", 1)
	server.addGang("g", int32(members), "c")
	x := start(b, server)
	x.idle()
	for i := range members - 1 {
		name := fmt.Sprintf("g-%d", i)
		if each {
			server.addClaim(name, 1)
			server.addPod(name, "g", own(name))
		} else {
			server.addPod(name, "g", ofGroup("c"))
		}
	}
	return x
}
