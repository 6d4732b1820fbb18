package claim

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/claims/claimstest"
)

// TestOncePerEntry lets pods and PodGroups come, go and come again under their names,
// delivers the events of each kind as late as it likes, restarts the controller with a
// cache that lags behind, and lets it reconcile in any order (F11, F19). After each write:
// at most one claim for an entry of an owner, and no record that goes from one claim of
// the owner to another. In the end: what lives has its claims, and what is gone has none.
func TestOncePerEntry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &drama{T: t, world: newWorld(), records: map[string]string{}}
		d.check = d.invariants
		d.put(d.parse("template x"))
		for range rapid.IntRange(20, 60).Draw(t, "steps") {
			d.step()
		}
		d.end()
	})
}

var steps = []string{
	"pod", "pod", "group", "group", "member", "member", "end", "hold", "deliver", "deliver", "reconcile", "reconcile",
	"reconcile", "lose", "restart", "collect",
}

type drama struct {
	*rapid.T
	*world
	born    int
	records map[string]string // owner UID/entry → claim
}

func (d *drama) parse(text string) *claimstest.World {
	w, err := claimstest.Parse(text)
	if err != nil {
		d.Fatal(err)
	}
	return w
}

func (d *drama) step() {
	switch rapid.SampledFrom(steps).Draw(d.T, "what") {
	case "pod":
		d.spawn("pod p%d uid=%d claims=a:template/x,b:template/x")
	case "group":
		d.spawn("group g%d uid=%d protected claims=s:template/x")
	case "member":
		d.spawn("pod m%d uid=%d group=g0 claims=s:group/s,own:template/x")
	case "end":
		for _, key := range d.pods.keys(d.pods.live)[:min(1, len(d.pods.live))] {
			d.pods.remove(d.pods.live[key])
		}
		for _, key := range d.groups.keys(d.groups.live)[:min(1, len(d.groups.live))] {
			d.groups.remove(d.groups.live[key])
		}
	case "hold":
		d.claims.held, d.pods.held, d.groups.held = rapid.Bool().Draw(d.T, "claims"), rapid.Bool().Draw(
			d.T,
			"pods",
		), rapid.Bool().Draw(d.T, "groups")
	case "deliver":
		d.claims.deliver(rapid.IntRange(0, 3).Draw(d.T, "claims"))
		d.pods.deliver(rapid.IntRange(0, 3).Draw(d.T, "pods"))
		d.groups.deliver(rapid.IntRange(0, 3).Draw(d.T, "groups"))
	case "reconcile":
		if len(d.waiting) > 0 {
			i := rapid.IntRange(0, len(d.waiting)-1).Draw(d.T, "which")
			key := d.waiting[i]
			d.waiting = append(d.waiting[:i:i], d.waiting[i+1:]...)
			if err := d.controller.Reconcile(context.Background(), key); err != nil {
				d.Add(key)
			}
		}
	case "restart":
		d.start(rapid.Bool().Draw(d.T, "stale"))
	case "lose":
		d.lost = 1
	case "collect":
		d.collect()
	}
}

// spawn adds one of three objects, unless it is there.
func (d *drama) spawn(format string) {
	d.born++
	w := d.parse(fmt.Sprintf(format, rapid.IntRange(0, 2).Draw(d.T, "number"), d.born))
	for _, o := range w.Pods {
		if _, ok := d.pods.live[storeKey(o)]; ok {
			return
		}
	}
	for _, o := range w.Groups {
		if _, ok := d.groups.live[storeKey(o)]; ok {
			return
		}
	}
	d.put(w)
}

// collect deletes the claims whose owner is gone.
func (d *drama) collect() {
	for _, key := range d.claims.keys(d.claims.live) {
		if c := d.claims.live[key]; c.DeletionTimestamp == nil && !d.lives(metav1.GetControllerOfNoCopy(c)) {
			d.deleteClaim(c)
		}
	}
}

func (d *drama) lives(ref *metav1.OwnerReference) bool {
	pod, isPod := d.pods.live["default/"+ref.Name]
	group, isGroup := d.groups.live["default/"+ref.Name]
	return isPod && pod.UID == ref.UID || isGroup && group.UID == ref.UID
}

func (d *drama) invariants() {
	seen := map[string]string{}
	for _, c := range d.claims.live {
		slot := string(metav1.GetControllerOfNoCopy(c).UID) + "/" + c.Annotations[claims.PodClaimAnnotation]
		if other, ok := seen[slot]; ok {
			d.Fatalf("%s and %s are both for %s", c.Name, other, slot)
		}
		seen[slot] = c.Name
	}
	for _, pod := range d.pods.live {
		for _, r := range pod.Status.ResourceClaimStatuses {
			if _, member := claims.GroupName(pod); member && r.Name == "s" {
				// A member that waits follows the PodGroup of now (F19)
				continue
			}
			d.keep(string(pod.UID), r.Name, *r.ResourceClaimName)
		}
	}
	for _, group := range d.groups.live {
		for _, r := range group.Status.ResourceClaimStatuses {
			d.keep(string(group.UID), r.Name, *r.ResourceClaimName)
		}
	}
}

func (d *drama) keep(uid, entry, claim string) {
	if before, ok := d.records[uid+"/"+entry]; ok && before != claim {
		d.Fatalf("record %s/%s went from %s to %s", uid, entry, before, claim)
	}
	d.records[uid+"/"+entry] = claim
}

// end delivers everything and looks at the result.
func (d *drama) end() {
	d.log, d.lost = nil, 0
	for range 3 {
		d.claims.held, d.pods.held, d.groups.held = false, false, false
		d.pods.deliver(len(d.pods.pending))
		d.groups.deliver(len(d.groups.pending))
		d.claims.deliver(len(d.claims.pending))
		d.collect()
		d.work()
	}
	for _, c := range d.claims.live {
		if !d.lives(metav1.GetControllerOfNoCopy(c)) {
			d.Fatalf("claim %s is left behind", c.Name)
		}
	}
	for _, pod := range d.pods.live {
		d.whole(pod)
	}
}

// whole checks that the pod's status names an existing claim for each entry.
func (d *drama) whole(pod *core.Pod) {
	group := d.groups.live["default/g0"]
	if _, member := claims.GroupName(pod); member && group == nil {
		return
	}
	for _, r := range claims.Resolve(pod, group) {
		claim, ok := d.claims.live["default/"+r.Claim]
		if r.State != claims.Named || !ok || r.Check(claim) != nil {
			d.Fatalf("pod %s, entry %s: state %d, claim %q (there: %t)\n%v", pod.Name, r.Entry, r.State, r.Claim, ok, d.log)
		}
	}
}
