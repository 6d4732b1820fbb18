package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// claimStore is the content of etcd, and everything that was ever written to it.
type claimStore struct {
	claims map[claimKey]*resource.ResourceClaim
	log    []*resource.ResourceClaim
}

func newClaimStore(names ...string) *claimStore {
	s := &claimStore{claims: map[claimKey]*resource.ResourceClaim{}}
	for _, name := range names {
		c := &resource.ResourceClaim{}
		c.Namespace, c.Name = "ns", name
		s.put(c)
	}
	return s
}

func (s *claimStore) all(context.Context) (*resource.ResourceClaimList, error) {
	list := &resource.ResourceClaimList{}
	list.ResourceVersion = strconv.Itoa(len(s.log))
	for _, c := range s.claims {
		list.Items = append(list.Items, *c.DeepCopy())
	}
	return list, nil
}

func (s *claimStore) get(_ context.Context, key claimKey) (*resource.ResourceClaim, error) {
	if c, ok := s.claims[key]; ok {
		return c.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "resourceclaims"}, key.name)
}

func (s *claimStore) watch(context.Context, string) (watch.Interface, error) {
	panic("the test shows the log itself")
}

func (s *claimStore) put(c *resource.ResourceClaim) *resource.ResourceClaim {
	c = c.DeepCopy()
	c.ResourceVersion = strconv.Itoa(len(s.log) + 1)
	s.log = append(s.log, c)
	s.claims[keyOf(c)] = c
	return c
}

// conflictingClaims are two claims whose allocations conflict.
func conflictingClaims(claims []*resource.ResourceClaim) string {
	for _, a := range claims {
		for _, b := range claims {
			for _, x := range devicesOf(a) {
				if a.Name < b.Name && slices.ContainsFunc(devicesOf(b), x.conflicts) {
					return fmt.Sprintf("%v of %s and something of %s", x, a.Name, b.Name)
				}
			}
		}
	}
	return ""
}

// apiServer is a guard with a view that lags behind the store.
type apiServer struct {
	guard *deviceGuard
	shown int        // number of log entries that the view shows
	late  []claimKey // claims that it must check
	blind bool       // it has listed the claims again, and does not know which was first
}

// pendingWrite is a write that the guard has admitted.
type pendingWrite struct {
	server *apiServer
	write  *deviceWrite
	claim  *resource.ResourceClaim
	stored *resource.ResourceClaim
	over   func() // nobody waits for it, and it may still be stored until this is called
}

// guards is a number of API servers on one store.
type guards struct {
	store   *claimStore
	servers []*apiServer
	open    []*pendingWrite
	settled map[claimKey]bool // claims whose client got a success response
	names   []string
}

func newGuards(servers int) *guards {
	names := []string{"a", "b", "c"}
	g := &guards{store: newClaimStore(names...), settled: map[claimKey]bool{}, names: names}
	for range servers {
		s := &apiServer{}
		s.guard = newDeviceGuard(g.store, newDeviceView(func(key claimKey) { s.late = append(s.late, key) }))
		g.servers = append(g.servers, s)
		g.reset(s)
	}
	return g
}

func (g *guards) reset(s *apiServer) {
	list, _ := g.store.all(context.Background())
	s.guard.view.reset(list)
	s.shown = len(g.store.log)
}

func (g *guards) lookAnew(t *rapid.T) {
	s := rapid.SampledFrom(g.servers).Draw(t, "server")
	g.reset(s)
	s.blind = true
}

func drawResult(t *rapid.T, claim string) resourcev1.DeviceRequestAllocationResult {
	r := resourcev1.DeviceRequestAllocationResult{
		Driver: "d",
		Pool:   "p",
		Device: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "device"),
	}
	switch rapid.IntRange(0, 3).Draw(t, "how") {
	case 0:
		r.AdminAccess = ptr.To(true)
	case 1:
		r.ShareID = ptr.To(types.UID(claim))
	}
	return r
}

func (g *guards) begin(t *rapid.T) {
	s := rapid.SampledFrom(g.servers).Draw(t, "server")
	old, _ := g.store.get(t.Context(), claimKey{"ns", rapid.SampledFrom(g.names).Draw(t, "claim")})
	w := &pendingWrite{server: s, write: &deviceWrite{guard: s.guard}, claim: old.DeepCopy()}
	if w.claim.Status.Allocation == nil {
		w.claim.Status.Allocation = &resource.AllocationResult{}
		w.claim.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{drawResult(t, old.Name)}
	} else {
		w.claim.Status.Allocation = nil
	}
	if err := w.write.reserve(t.Context(), w.claim, old); err == nil {
		g.open = append(g.open, w)
	} else if !g.isWanted(w.claim) {
		t.Fatalf("refused without need: %v", err)
	}
}

// isWanted reports whether another claim has, or may get, a device of the claim.
func (g *guards) isWanted(claim *resource.ResourceClaim) bool {
	others := []*resource.ResourceClaim{}
	for _, c := range g.store.claims {
		others = append(others, c)
	}
	for _, w := range g.open {
		others = append(others, w.claim)
	}
	return slices.ContainsFunc(others, func(other *resource.ResourceClaim) bool {
		return other.Name != claim.Name && slices.ContainsFunc(devicesOf(claim), func(id deviceID) bool {
			return slices.ContainsFunc(devicesOf(other), id.conflicts)
		})
	})
}

func (g *guards) pick(t *rapid.T) (int, *pendingWrite) {
	if len(g.open) == 0 {
		t.Skip()
	}
	i := rapid.IntRange(0, len(g.open)-1).Draw(t, "write")
	return i, g.open[i]
}

// write stores an admitted write, if the claim has not changed since.
func (g *guards) write(t *rapid.T) {
	_, w := g.pick(t)
	if now := g.store.claims[keyOf(w.claim)]; w.stored == nil && now.ResourceVersion == w.claim.ResourceVersion {
		w.stored = g.store.put(w.claim)
		delete(g.settled, keyOf(w.claim))
	}
}

// loseResponse ends a write without a response to its client.
func (g *guards) loseResponse(t *rapid.T) {
	_, w := g.pick(t)
	if w.over == nil {
		w.server.guard.whenCertain = func(f func()) { w.over = f }
		w.write.abandon()
		if w.over == nil {
			w.over = func() {} // without effect
		}
	}
}

// end ends a write, with a response.
func (g *guards) end(t *rapid.T) {
	i, w := g.pick(t)
	switch {
	case w.over != nil && w.stored != nil && w.server.shown < int(versionOf(w.stored.ResourceVersion)):
		t.Skip("unsureFor is longer than that")
	case w.over != nil:
		w.over()
	case w.stored == nil:
		w.write.end()
	case len(w.write.gained) > 0 && w.server.shown < int(versionOf(w.stored.ResourceVersion)):
		t.Skip("waits for its view")
	default:
		g.answer(t, w)
	}
	g.open = slices.Delete(g.open, i, i+1)
}

func (g *guards) answer(t *rapid.T, w *pendingWrite) {
	key := keyOf(w.claim)
	var err error
	if len(w.write.gained) > 0 {
		err = w.write.settle(t.Context(), w.stored)
	}
	now := g.store.claims[key]
	switch {
	case err != nil && len(g.servers) == 1 && !w.server.blind && now.ResourceVersion == w.stored.ResourceVersion:
		t.Fatalf("stored, and refused afterwards: %v", err)
	case err != nil && now.ResourceVersion == w.stored.ResourceVersion:
		now = now.DeepCopy()
		now.Status = resource.ResourceClaimStatus{}
		g.store.put(now)
	case err == nil && now.ResourceVersion == w.stored.ResourceVersion:
		g.settled[key] = true
	}
}

func (g *guards) show(t *rapid.T) {
	s := rapid.SampledFrom(g.servers).Draw(t, "server")
	for range rapid.IntRange(1, 4).Draw(t, "events") {
		g.showNext(s)
	}
}

func (g *guards) showNext(s *apiServer) {
	if s.shown < len(g.store.log) {
		s.guard.view.onChange(g.store.log[s.shown], false)
		s.shown++
	}
}

// takeLate makes a server deallocate a claim that some server stored too late.
func (g *guards) takeLate(t *rapid.T) {
	s := rapid.SampledFrom(g.servers).Draw(t, "server")
	if len(s.late) == 0 {
		t.Skip()
	}
	g.takeNext(t, s)
}

func (g *guards) takeNext(t *rapid.T, s *apiServer) {
	key := s.late[0]
	now := g.store.claims[key]
	for s.shown < int(versionOf(now.ResourceVersion)) {
		g.showNext(s)
	}
	s.late = s.late[1:]
	if !s.guard.view.late(key) {
		return
	}
	if g.settled[key] {
		t.Fatalf("%s is taken back, although its client was told that it stays", key.name)
	}
	now = now.DeepCopy()
	now.Status = resource.ResourceClaimStatus{}
	g.store.put(now)
}

// endAllWrites ends all writes without a response, as if their servers were killed; the remaining servers
// see everything.
func (g *guards) endAllWrites(t *rapid.T) {
	for quiet := false; !quiet; {
		quiet = true
		for _, s := range g.servers {
			for s.shown < len(g.store.log) || len(s.late) > 0 {
				quiet = false
				g.showNext(s)
				if len(s.late) > 0 {
					g.takeNext(t, s)
				}
			}
		}
	}
	if slices.ContainsFunc(g.servers, func(s *apiServer) bool { return !s.blind }) {
		if two := conflictingClaims(slices.Collect(maps.Values(g.store.claims))); two != "" {
			t.Fatalf("when all is at rest: %s", two)
		}
	}
}

// Conflicting writes of claims, some of which are lost or get no response. With one server, no
// device is ever stored for two claims. With two servers, never do both clients get a success
// response, and after a short time only one claim has the device, whichever server is killed. A
// claim is rejected only because of a claim that has the device or may get it.
func TestDeviceGuard(t *testing.T) {
	for servers := 1; servers <= 2; servers++ {
		t.Run(fmt.Sprint(servers), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				g := newGuards(servers)
				actions := map[string]func(*rapid.T){
					"begin": g.begin, "write": g.write, "lose": g.loseResponse, "end": g.end, "show": g.show, "take late": g.takeLate,
					"": g.check,
				}
				if rapid.Bool().Draw(t, "watches may fail") {
					actions["look anew"] = g.lookAnew
				}
				t.Repeat(actions)
				g.endAllWrites(t)
			})
		})
	}
}

func (g *guards) check(t *rapid.T) {
	var have []*resource.ResourceClaim
	for key, claim := range g.store.claims {
		if len(g.servers) == 1 || g.settled[key] {
			have = append(have, claim)
		}
	}
	if two := conflictingClaims(have); two != "" {
		t.Fatal(two)
	}
}

func TestErrorsThatExcludeAWrite(t *testing.T) {
	claims := schema.GroupResource{Resource: "resourceclaims"}
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{apierrors.NewConflict(claims, "c", errors.New("changed")), true},
		{apierrors.NewForbidden(claims, "c", errors.New("no right")), true},
		{fmt.Errorf("update: %w", apierrors.NewNotFound(claims, "c")), true},
		{apierrors.NewInternalError(errors.New("etcd is gone")), false},
		{apierrors.NewTimeoutError("too long", 1), false},
		{context.Canceled, false},
	} {
		if got := surelyNotStored(tc.err); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.err, got, tc.want)
		}
	}
}
