package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	core "github.com/allot-dev/allot/api/core/v1"
)

// chaos is a server with two gangs and some pods that compete for it, one scheduler after the
// other, and somebody who deletes pods and puts others in their place.
type chaos struct {
	t      *rapid.T
	server *server
	run    *session
	class  string            // of the gangs' claims
	asked  []func(*core.Pod) // of members, beside the shared claim
	made   int
}

const gangSize = 3

func newChaos(t *rapid.T) *chaos {
	s := newServer(t)
	s.addNode("n1", rapid.Int64Range(1, 4).Draw(t, "room"), rapid.IntRange(0, 2).Draw(t, "devices"))
	s.addNode("n2", rapid.Int64Range(1, 4).Draw(t, "room"), rapid.IntRange(0, 2).Draw(t, "devices"))
	class := "gpu"
	if rapid.Bool().Draw(t, "fabric") {
		class = "net"
		s.addFabric(rapid.IntRange(1, 3).Draw(t, "channels"))
	}
	c := &chaos{t: t, server: s, class: class}
	s.offer()
	if rapid.Bool().Draw(t, "members ask") {
		c.asked = []func(*core.Pod){asks(1)}
	}
	s.graceful = rapid.Bool().Draw(t, "graceful")
	for _, gang := range []string{"a", "b"} {
		s.addClaimOf(class, "shared-"+gang, 1)
		s.addGang(gang, gangSize, "shared-"+gang)
		s.editGroup(gang, groupPriority(rapid.SampledFrom([]int32{0, 0, 500, 1500}).Draw(t, "gang priority")))
	}
	c.start()
	return c
}

func (c *chaos) start() {
	c.run = start(c.t, c.server)
	c.run.s.pending.timeout = 10 * time.Second
}

// drive has the driver report of a claim's devices.
func (c *chaos) drive(claim, condition string) {
	if c.server.claim(claim).Status.Allocation != nil {
		c.server.report(claim, condition, metav1.ConditionTrue)
	}
}

// member adds what a gang lacks, a pod of high priority if it lacks nothing.
func (c *chaos) member(gang string) {
	for i := range gangSize {
		name := fmt.Sprintf("%s-%d", gang, i)
		if _, ok := c.server.objects.pods.Get(ns, name); !ok {
			c.server.addPod(name, gang, append(c.asked, ofGroup("shared-"+gang))...)
			return
		}
	}
	c.made++
	name, edits := fmt.Sprintf("rival-%d", c.made), []func(*core.Pod){priority(int32(c.made%3) * 1000)}
	if rapid.Bool().Draw(c.t, "with a device") {
		c.server.addClaimOf(c.class, name, 1)
		edits = append(edits, own(name))
	} else if rapid.Bool().Draw(c.t, "asks") {
		edits = append(edits, asks(1))
	}
	c.server.addPod(name, "", edits...)
}

// endOne has one of the pods end that are being deleted.
func (c *chaos) endOne() {
	if going := c.server.going(); len(going) > 0 {
		c.server.end(going[rapid.IntRange(0, len(going)-1).Draw(c.t, "ends")])
	}
}

func (c *chaos) deleteOne() {
	list := c.server.objects.pods.List()
	if len(list) > 0 {
		c.server.deletePod(list[rapid.IntRange(0, len(list)-1).Draw(c.t, "pod")].Name)
	}
}

// act does one thing.
func (c *chaos) act() {
	switch rapid.IntRange(0, 14).Draw(c.t, "action") {
	case 0, 1:
		c.run.see(rapid.IntRange(1, 5).Draw(c.t, "changes"))
	case 2, 3:
		c.run.step()
	case 4, 5:
		c.run.job()
	case 6:
		c.run.status()
	case 7:
		c.run.clock.Step(
			rapid.SampledFrom([]time.Duration{50 * time.Millisecond, time.Second, 10 * time.Second}).Draw(c.t, "time"),
		)
	case 8, 9:
		c.member(rapid.SampledFrom([]string{"a", "b"}).Draw(c.t, "gang"))
	case 10:
		c.deleteOne()
	case 11:
		c.crash()
	case 12:
		c.drive(rapid.SampledFrom([]string{"shared-a", "shared-b"}).Draw(c.t, "claim"),
			rapid.SampledFrom([]string{attached, broken}).Draw(c.t, "condition"))
	case 14:
		c.endOne()
	case 13:
		c.server.addRoom(rapid.SampledFrom([]string{"n1", "n2"}).Draw(c.t, "node"), rapid.Int64Range(0, 5).Draw(c.t, "room"))
	}
}

// crash ends the process within the writes of what it decides next, and starts another.
func (c *chaos) crash() {
	c.run.see(1000)
	for c.run.step() {
	}
	c.run.link.left = rapid.IntRange(0, 6).Draw(c.t, "writes")
	for c.run.job() {
	}
	c.start()
}

// settle gives the scheduler and the driver that run now all the time they need.
func (c *chaos) settle() {
	for range 65 { // a device that did not become ready is not given out for 30 s
		for _, claim := range c.server.objects.claims.List() {
			c.drive(claim.Name, attached)
		}
		c.server.end(c.server.going()...)
		c.server.end() // for those who have gone before
		c.run.pass(time.Second)
	}
}

// Whatever happens, and whenever the process ends: in the end no gang is half-bound, no device was
// ever given twice, no pod was bound before its claims, and what is not placed holds nothing.
func TestNothingStaysHalfDone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChaos(t)
		for range rapid.IntRange(5, 60).Draw(t, "length") {
			c.act()
		}
		c.settle()
		for _, gang := range []string{"a", "b"} {
			c.check(gang)
		}
		c.checkMade()
		c.anew()
		c.end()
	})
}

// anew holds that a scheduler that starts now, and looks at everything, finds nothing to place:
// nobody who could be placed was left parked.
func (c *chaos) anew() {
	fresh := start(c.t, c.server)
	fresh.idle()
	if n := count(fresh.link.writes, "bind") + count(fresh.link.writes, "status") +
		count(fresh.link.writes, "evict"); n > 0 {
		c.t.Errorf("a new scheduler finds something to do: %q", fresh.link.writes)
	}
	c.run = fresh
}

// end takes everything away, and holds that nothing is remembered of it.
func (c *chaos) end() {
	for _, pod := range c.server.objects.pods.List() {
		c.server.deletePod(pod.Name)
	}
	c.server.deleteGroup("a")
	c.server.deleteGroup("b")
	c.settle()
	s := c.run.s
	ready, parked := s.queue.Len()
	if len(s.evicting.byPod)+len(s.alarms) > 0 || strings.Contains(s.state.Dump(), "kept for") {
		c.t.Errorf("leaving %v, alarms %v, %s", s.evicting.byPod, s.alarms, s.state.Dump())
	}
	if ready+parked+len(s.held)+len(
		s.failures,
	)+len(s.halfBound)+len(
		s.pending.plans,
	)+len(s.status.groups.verdicts)+len(
		s.status.groups.counts,
	)+len(s.status.pods.verdicts) > 0 {
		c.t.Errorf("%d ready, %d parked, held %v, failures %v, half-bound %v, said %v", ready, parked, s.held, s.failures,
			s.halfBound, s.status.groups.verdicts)
	}
}

// checkMade holds that claims that were made in the place of extended resources have devices only
// for pods that are bound.
func (c *chaos) checkMade() {
	for _, claim := range c.server.objects.claims.List() {
		if claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "" || claim.Status.Allocation == nil {
			continue
		}
		pod, ok := c.server.objects.pods.Get(ns, claim.OwnerReferences[0].Name)
		if ok && pod.UID == claim.OwnerReferences[0].UID && pod.Spec.NodeName == "" {
			c.t.Errorf("claim %s has devices for pod %s, which is not bound: %s", claim.Name, pod.Name,
				c.server.message(pod.Name))
		}
	}
}

// check holds for a gang in the end that it is whole or not there; one that has run may have lost
// members since.
func (c *chaos) check(gang string) {
	group, ok := c.run.s.state.Groups.Get(key(gang))
	bound := c.server.bound(gang)
	if !ok || group.Scheduled {
		return
	}
	if len(bound) > 0 {
		c.t.Errorf("gang %s is half-bound: %v", gang, bound)
	}
	if claim := c.server.claim("shared-" + gang); claim.Status.Allocation != nil {
		c.t.Errorf("gang %s is not placed and holds %v", gang, claim.Status.Allocation.Devices.Results)
	}
}
