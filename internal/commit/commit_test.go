package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/holding"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// server is an API server for claims and bindings in memory, with a cache.
type server struct {
	mu     sync.Mutex
	claims map[model.Key]*resource.ResourceClaim
	cached map[model.Key]*resource.ResourceClaim
	bound  map[model.Key]string
	log    []string
	// onBind may respond to a bind in place of the server; nil lets it pass.
	onBind func(attempt int, pod string) error
	binds  int
	made   int
	// failingReads is how many reads get no response.
	failingReads int
	// onWrite is called after a write of a claim, and may lose the response.
	onWrite func(what string) error
	// groups are the groups by name. Any other group exists, and its UID is its name with "-uid".
	groups map[string]Group
}

func newServer(claims ...*resource.ResourceClaim) *server {
	s := &server{
		claims: map[model.Key]*resource.ResourceClaim{},
		cached: map[model.Key]*resource.ResourceClaim{},
		bound:  map[model.Key]string{},
	}
	for _, c := range claims {
		s.claims[keyOf(c)], s.cached[keyOf(c)] = c, c
	}
	return s
}

func keyOf(c *resource.ResourceClaim) model.Key {
	return model.Key{Namespace: c.Namespace, Name: c.Name}
}

func (s *server) Claim(key model.Key) (*resource.ResourceClaim, bool) {
	c, ok := s.cached[key]
	return c, ok
}

func (s *server) Get(_ context.Context, key model.Key) (*resource.ResourceClaim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.claims[key]; ok {
		return c, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "resourceclaims"}, key.Name)
}

func (s *server) Update(_ context.Context, c *resource.ResourceClaim) (*resource.ResourceClaim, error) {
	return s.write("update", c)
}

func (s *server) UpdateStatus(_ context.Context, c *resource.ResourceClaim) (*resource.ResourceClaim, error) {
	return s.write("status", c)
}

func (s *server) write(what string, c *resource.ResourceClaim) (*resource.ResourceClaim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, what+" "+c.Name)
	if old := s.claims[keyOf(c)]; old.ResourceVersion != c.ResourceVersion {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "resourceclaims"}, c.Name, errors.New("modified"))
	}
	c = c.DeepCopy()
	c.ResourceVersion += "+"
	s.claims[keyOf(c)] = c
	if s.onWrite != nil {
		if err := s.onWrite(s.log[len(s.log)-1]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (s *server) Bind(_ context.Context, b *corev1.Binding) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.binds++
	if s.onBind != nil {
		if err := s.onBind(s.binds, b.Name); err != nil {
			return err
		}
	}
	key := model.Key{Namespace: b.Namespace, Name: b.Name}
	if s.bound[key] != "" {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, b.Name, errors.New("already bound"))
	}
	s.bound[key] = b.Target.Name
	return nil
}

func (s *server) Record(_ context.Context, bind *plan.Pod) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bind.Extended != nil {
		s.log = append(s.log,
			fmt.Sprintf("extended %s %s, bound to %q", bind.Pod.Name, bind.Extended.ResourceClaimName, s.bound[bind.Pod]))
		return nil
	}
	s.log = append(s.log,
		fmt.Sprintf("draw %s %s, bound to %q", bind.Pod.Name, bind.Draws[0].ResourceClaimName, s.bound[bind.Pod]))
	return nil
}

func (s *server) Create(_ context.Context, c *resource.ResourceClaim) (*resource.ResourceClaim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, "create "+c.Name)
	if _, ok := s.claims[keyOf(c)]; ok {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "resourceclaims"}, c.Name)
	}
	s.made++
	c = c.DeepCopy()
	c.UID, c.ResourceVersion = types.UID(fmt.Sprint("made-", s.made)), "1"
	s.claims[keyOf(c)] = c
	if s.onWrite != nil {
		if err := s.onWrite("create " + c.Name); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (s *server) Delete(_ context.Context, c *resource.ResourceClaim) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, "delete "+c.Name)
	if old := s.claims[keyOf(c)]; old == nil || old.ResourceVersion != c.ResourceVersion || len(old.Finalizers) > 0 {
		return apierrors.NewConflict(schema.GroupResource{Resource: "resourceclaims"}, c.Name, errors.New("modified"))
	}
	delete(s.claims, keyOf(c))
	return nil
}

func (s *server) Group(_ context.Context, _ string, of model.Consumer) (Group, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failingReads > 0 {
		s.failingReads--
		return Group{}, apierrors.NewServiceUnavailable("away")
	}
	group, ok := s.groups[of.Name]
	switch {
	case !ok:
		return Group{UID: types.UID(of.Name + "-uid")}, nil
	case group.UID == "":
		return Group{}, apierrors.NewNotFound(schema.GroupResource{Group: of.APIGroup, Resource: of.Resource}, of.Name)
	}
	return group, nil
}

func (s *server) BoundTo(_ context.Context, key model.Key, _ types.UID) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failingReads > 0 {
		s.failingReads--
		return "", apierrors.NewServiceUnavailable("away")
	}
	return s.bound[key], nil
}

func (s *server) committer() *Committer {
	return &Committer{
		reader: reader{s, s, func(ctx context.Context, _ time.Duration) error { return ctx.Err() }},
		cache:  s,
		clock:  testclock.NewFakeClock(time.Unix(1, 0)),
		turns:  newTurns(),
		writes: semaphore.NewWeighted(8),
	}
}

func claim(name string) *resource.ResourceClaim {
	return &resource.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       "ns",
			Name:            name,
			UID:             types.UID(name),
			ResourceVersion: "1",
			Finalizers:      []string{resourcev1.Finalizer},
		},
	}
}

func claimPlan(name string, consumers ...model.Consumer) plan.Claim {
	return plan.Claim{
		Key: model.Key{Namespace: "ns", Name: name}, UID: types.UID(name), Reserve: consumers,
		Allocation: &model.Allocation{
			Devices: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: "d", Pool: "p", Device: "x-" + name}},
		},
	}
}

// gang returns a plan for n pods that share one claim.
func gang(n int, claims ...plan.Claim) *plan.Plan {
	made := &plan.Plan{Claims: claims}
	for i := range n {
		made.Pods = append(made.Pods, plan.Pod{Pod: model.Key{Namespace: "ns", Name: fmt.Sprintf("p-%d", i)}, Node: "n1"})
	}
	return made
}

var group = model.GroupConsumer("g", "g-uid")

func TestSharedClaimIsWrittenOnceBeforeTheBinds(t *testing.T) {
	s := newServer(claim("c"))
	result := s.committer().Commit(t.Context(), gang(1000, claimPlan("c", group)))
	if result.Refused != nil || len(result.Failed) > 0 {
		t.Fatalf("result = %+v", result)
	}
	if want := []string{"status c"}; !slices.Equal(s.log, want) {
		t.Errorf("writes of claims = %v, want %v", s.log, want)
	}
	if len(s.bound) != 1000 {
		t.Errorf("%d pods bound", len(s.bound))
	}
	if got := s.claims[model.Key{Namespace: "ns", Name: "c"}].Status; len(got.ReservedFor) != 1 || got.Allocation == nil {
		t.Errorf("status = %+v", got)
	}
}

// R11, P9: a plan is made for one PodGroup and one minCount. With another one, nothing is written.
func TestPlanIsRefusedIfItsGroupHasChanged(t *testing.T) {
	tree := model.CompositeConsumer("g", "g-uid")
	for name, c := range map[string]struct {
		consumer model.Consumer
		relies   bool
		minCount int // of the plan
		now      Group
		written  bool
	}{
		"same gang":                       {group, false, 2, Group{"g-uid", 2}, true},
		"no gang any more":                {group, false, 2, Group{"g-uid", 0}, true},
		"other minCount":                  {group, false, 2, Group{"g-uid", 3}, false},
		"recreated gang":                  {group, false, 2, Group{"new", 2}, false},
		"deleted gang":                    {group, false, 2, Group{}, false},
		"same group":                      {group, false, 0, Group{"g-uid", 0}, true},
		"recreated group":                 {group, false, 0, Group{"new", 0}, false},
		"deleted group":                   {group, false, 0, Group{}, false},
		"same group, allocated claim":     {group, true, 0, Group{"g-uid", 0}, true},
		"recreated group, its old claim":  {group, true, 0, Group{"new", 0}, false},
		"recreated tree, its old claim":   {tree, true, 0, Group{"new", 0}, false},
		"recreated tree":                  {tree, false, 0, Group{"new", 0}, false},
		"a pod's claim, recreated group":  {model.PodConsumer("p-0", "p-0"), false, 0, Group{"new", 0}, true},
		"claim for a Job named like g":    {model.Consumer{APIGroup: "batch", Resource: "jobs", Name: "g"}, false, 0, Group{}, true},
		"gang without claims, recreated":  {model.Consumer{}, false, 2, Group{"new", 2}, false},
		"group without claims, recreated": {model.Consumer{}, false, 0, Group{"new", 0}, true},
	} {
		t.Run(name, func(t *testing.T) {
			own := claim("c")
			s := newServer(own)
			s.groups, s.failingReads = map[string]Group{"g": c.now}, 3
			made := gang(2)
			made.Unit = model.UnitKey{Group: true, Key: model.Key{Namespace: "ns", Name: "g"}}
			made.Group, made.MinCount = "g-uid", c.minCount
			switch {
			case c.consumer.Name == "":
			case c.relies:
				own.Status = resource.ResourceClaimStatus{
					Allocation: &resource.AllocationResult{}, ReservedFor: []model.Consumer{c.consumer},
				}
				made.Relies = []plan.Reliance{{Key: keyOf(own), UID: own.UID, Consumer: c.consumer}}
			default:
				made.Claims = []plan.Claim{claimPlan("c", c.consumer)}
			}
			result := s.committer().Commit(t.Context(), made)
			if got := result.Refused == nil; got != c.written || (len(s.bound) == 2) != c.written {
				t.Errorf("refused with %v, bound %v", result.Refused, s.bound)
			}
			if !c.written && (len(s.log) > 0 || !errors.Is(result.Refused, ErrRefused)) {
				t.Errorf("refused with %v after the writes %v", result.Refused, s.log)
			}
		})
	}
}

// No version of a claim is allocated without the finalizer (F40).
func TestFinalizerComesBeforeTheAllocation(t *testing.T) {
	c := claim("c")
	c.Finalizers = nil
	s := newServer(c)
	s.committer().Commit(t.Context(), gang(1, claimPlan("c", group)))
	if want := []string{"update c", "status c"}; !slices.Equal(s.log, want) {
		t.Errorf("writes = %v, want %v", s.log, want)
	}
}

func TestStaleCacheIsWrittenOverTheNewerObject(t *testing.T) {
	s := newServer(claim("c"))
	newer := claim("c")
	newer.ResourceVersion = "2"
	newer.Labels = map[string]string{"kept": "yes"}
	s.claims[keyOf(newer)] = newer
	if result := s.committer().Commit(t.Context(), gang(2, claimPlan("c", group))); result.Refused != nil {
		t.Fatal(result.Refused)
	}
	if got := s.claims[keyOf(newer)]; got.Labels["kept"] != "yes" || got.Status.Allocation == nil {
		t.Errorf("claim = %+v", got)
	}
}

// A claim that was allocated by another writer makes the plan fail, and the writes to other claims
// are reverted.
func TestFailedPlanLeavesNoClaims(t *testing.T) {
	s := newServer(claim("a"), claim("b"))
	taken := claim("b")
	taken.ResourceVersion = "2"
	taken.Status.Allocation = &resource.AllocationResult{}
	s.claims[keyOf(taken)] = taken
	result := s.committer().Commit(t.Context(), gang(2, claimPlan("a", group), claimPlan("b", group)))
	if !errors.Is(result.Refused, ErrRefused) {
		t.Fatalf("refused = %v, want %v", result.Refused, ErrRefused)
	}
	if len(s.bound) > 0 {
		t.Errorf("bound %v", s.bound)
	}
	if a := s.claims[model.Key{Namespace: "ns", Name: "a"}].Status; a.Allocation != nil || len(a.ReservedFor) > 0 {
		t.Errorf("claim a keeps %+v", a)
	}
}

func TestConsumerLimitFailsThePlan(t *testing.T) {
	c := claim("c")
	c.Status.Allocation = &resource.AllocationResult{}
	for i := range model.MaxConsumers {
		c.Status.ReservedFor = append(c.Status.ReservedFor, model.PodConsumer("p", types.UID(fmt.Sprint(i))))
	}
	plan := claimPlan("c", model.PodConsumer("q", "q"))
	plan.Allocation = nil
	result := newServer(c).committer().Commit(t.Context(), gang(1, plan))
	if !errors.Is(result.Refused, ErrRefused) {
		t.Errorf("refused = %v", result.Refused)
	}
}

func TestBindWithLostResponseCounts(t *testing.T) {
	s := newServer()
	s.onBind = func(attempt int, pod string) error {
		if attempt == 1 {
			s.bound[model.Key{Namespace: "ns", Name: pod}] = "n1"
			return apierrors.NewTimeoutError("gone", 0)
		}
		return nil
	}
	if result := s.committer().Commit(t.Context(), gang(1)); len(result.Failed) > 0 {
		t.Errorf("failed = %v", result.Failed)
	}
}

func TestDeletedPodFailsAlone(t *testing.T) {
	s := newServer(claim("c"))
	s.onBind = func(_ int, pod string) error {
		if pod == "p-1" {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, pod)
		}
		return nil
	}
	result := s.committer().Commit(t.Context(), gang(3, claimPlan("c", group)))
	if len(result.Failed) != 1 || !errors.Is(result.Failed[model.Key{Namespace: "ns", Name: "p-1"}], ErrRefused) {
		t.Errorf("failed = %v", result.Failed)
	}
	if len(s.bound) != 2 {
		t.Errorf("bound = %v", s.bound)
	}
}

func TestBindOfAnEarlierPlanCounts(t *testing.T) {
	s := newServer()
	s.bound[model.Key{Namespace: "ns", Name: "p-0"}] = "n1"
	s.bound[model.Key{Namespace: "ns", Name: "p-1"}] = "n2"
	result := s.committer().Commit(t.Context(), gang(2))
	if len(result.Failed) != 1 || result.Failed[model.Key{Namespace: "ns", Name: "p-1"}] == nil {
		t.Errorf("failed = %v", result.Failed)
	}
}

// An allocation whose response was lost belongs to the plan: the plan succeeds, and if it fails
// later, the claim is deallocated.
func TestAllocationWithLostResponse(t *testing.T) {
	for _, refused := range []bool{false, true} {
		t.Run(fmt.Sprint("refused=", refused), func(t *testing.T) {
			s := newServer(claim("a"), claim("b"))
			if refused {
				delete(s.claims, model.Key{Namespace: "ns", Name: "b"})
				delete(s.cached, model.Key{Namespace: "ns", Name: "b"})
			}
			lost := 0
			s.onWrite = func(what string) error {
				if lost++; what == "status a" && lost == 1 {
					return apierrors.NewTimeoutError("gone", 0)
				}
				return nil
			}
			claims := []plan.Claim{claimPlan("a", group)}
			if refused {
				claims = append(claims, claimPlan("b", group))
			}
			result := s.committer().Commit(t.Context(), gang(1, claims...))
			if (result.Refused != nil) != refused {
				t.Fatalf("result = %+v", result)
			}
			if a := s.claims[model.Key{Namespace: "ns", Name: "a"}].Status; (a.Allocation == nil) != refused ||
				(len(a.ReservedFor) == 0) != refused {
				t.Errorf("claim a has %+v, writes %v", a, s.log)
			}
		})
	}
}

// Consumers that a claim had before the plan, or got since, remain if the plan fails.
func TestOnlyAddedConsumersAreReverted(t *testing.T) {
	taken := claim("b")
	taken.Status.Allocation = &resource.AllocationResult{}
	held := claim("a")
	held.Status.Allocation = &resource.AllocationResult{}
	held.Status.ReservedFor = []model.Consumer{group}
	s := newServer(held, taken)
	other := model.PodConsumer("other", "other")
	s.onWrite = func(what string) error {
		if what != "status a" {
			return nil
		}
		s.onWrite = nil
		now := s.claims[keyOf(held)].DeepCopy()
		now.ResourceVersion += "-edited"
		now.Status.ReservedFor = append(now.Status.ReservedFor, other)
		s.claims[keyOf(held)] = now
		return nil
	}
	plan := claimPlan("a", group, model.PodConsumer("mine", "mine"))
	plan.Allocation = nil
	result := s.committer().Commit(t.Context(), gang(1, plan, claimPlan("b", group)))
	if result.Refused == nil {
		t.Fatal("not refused")
	}
	if got, want := s.claims[keyOf(held)].Status.ReservedFor, []model.Consumer{group, other}; !slices.Equal(got, want) {
		t.Errorf("reserved for %v, want %v", got, want)
	}
}

// The cache may be outdated, so the API is read before a plan is reported as failed or already
// written.
func TestOutdatedCacheIsNotTrusted(t *testing.T) {
	allocated := claim("c")
	allocated.Status.Allocation = claimPlan("c").Allocation.Result()
	allocated.Status.ReservedFor = []model.Consumer{group}
	free := claim("c")
	free.ResourceVersion = "2"
	for what, consumer := range map[string]model.Consumer{"the same was there": group,
		"somebody else's was there": model.PodConsumer("p", "p")} {
		t.Run(what, func(t *testing.T) {
			s := newServer(free)
			s.cached[keyOf(free)] = allocated
			if result := s.committer().Commit(t.Context(), gang(1, claimPlan("c", consumer))); result.Refused != nil {
				t.Fatal(result.Refused)
			}
			if got := s.claims[keyOf(free)].Status; got.Allocation == nil ||
				!slices.Equal(got.ReservedFor, []model.Consumer{consumer}) {
				t.Errorf("status = %+v", got)
			}
		})
	}
}

func TestGiveBack(t *testing.T) {
	with := func(consumers ...model.Consumer) *resource.ResourceClaim {
		c := claim("c")
		c.Status.Allocation = &resource.AllocationResult{}
		c.Status.ReservedFor = consumers
		return c
	}
	other := model.PodConsumer("other", "other")
	replaced := with(group)
	replaced.UID = "another"
	tests := []struct {
		name string
		have *resource.ResourceClaim
		free bool
	}{
		{"held by the holder", with(group), true},
		{"held by nobody", with(), true},
		{"held by somebody else, too", with(group, other), false},
		{"another claim", replaced, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(test.have)
			s.cached[keyOf(test.have)] = with(group)
			s.cached[keyOf(test.have)].ResourceVersion = "0"
			seen, err := s.committer().GiveBack(t.Context(),
				&holding.Claim{Key: keyOf(test.have), UID: "c", Holders: []model.Consumer{group}})
			if err != nil || seen == nil {
				t.Fatal(seen, err)
			}
			now := s.claims[keyOf(test.have)].Status
			if (now.Allocation == nil) != test.free ||
				test.have != replaced && slices.ContainsFunc(now.ReservedFor, func(c model.Consumer) bool { return c == group }) {
				t.Errorf("status = %+v", now)
			}
		})
	}
	behind := newServer(with(group))
	behind.cached[keyOf(behind.claims[model.Key{Namespace: "ns", Name: "c"}])] = claim("c")
	if seen, err := behind.committer().GiveBack(t.Context(),
		&holding.Claim{Key: model.Key{Namespace: "ns", Name: "c"}, UID: "c", Holders: []model.Consumer{group}}); err != nil ||
		seen.Status.Allocation != nil {
		t.Errorf("a claim of which the cache does not show the devices: %v, %v", seen, err)
	}
	gone := newServer()
	if seen, err := gone.committer().GiveBack(t.Context(),
		&holding.Claim{Key: model.Key{Namespace: "ns", Name: "c"}}); seen != nil ||
		err != nil {
		t.Errorf("a claim that is gone: %v, %v", seen, err)
	}
}

// A pod's status has the resources that it uses of its node before it is bound.
func TestDrawsAreWrittenBeforeTheBind(t *testing.T) {
	s := newServer()
	plan := &plan.Plan{
		Pods: []plan.Pod{
			{Pod: model.Key{Namespace: "ns", Name: "p"}, UID: "p", Node: "n", Draws: []model.Draw{{ResourceClaimName: "c"}}},
		},
	}
	if result := s.committer().Commit(t.Context(), plan); result.Refused != nil || len(result.Failed) > 0 {
		t.Fatal(result)
	}
	if want := []string{`draw p c, bound to ""`}; !slices.Equal(s.log, want) || len(s.bound) != 1 {
		t.Errorf("log %q, bound %v", s.log, s.bound)
	}
}

// Pods that share a claim without a group are added to its consumers by separate plans, which take
// turns (F14).
func TestPlansThatReserveOneClaimDoNotConflict(t *testing.T) {
	const pods = 200
	s := newServer(claim("c"))
	committer := s.committer()
	if result := committer.Commit(t.Context(), gang(0, claimPlan("c", group))); result.Refused != nil {
		t.Fatal(result.Refused)
	}
	s.cached[model.Key{Namespace: "ns", Name: "c"}] = s.claims[model.Key{Namespace: "ns", Name: "c"}]
	var running sync.WaitGroup
	for i := range pods {
		running.Go(func() {
			consumer := model.PodConsumer(fmt.Sprintf("p-%d", i), types.UID(fmt.Sprintf("p-%d-uid", i)))
			plan := &plan.Plan{
				Claims: []plan.Claim{{Key: model.Key{Namespace: "ns", Name: "c"}, UID: "c", Reserve: []model.Consumer{consumer}}},
			}
			if result := committer.Commit(t.Context(), plan); result.Refused != nil {
				t.Error(result.Refused)
			}
		})
	}
	running.Wait()
	if got := s.claims[model.Key{Namespace: "ns", Name: "c"}].Status.ReservedFor; len(got) != pods+1 {
		t.Errorf("%d consumers, want %d", len(got), pods+1)
	}
	if len(committer.turns.byKey) > 0 {
		t.Errorf("%d claims are remembered", len(committer.turns.byKey))
	}
	// The cache never shows a write here, so a writer that finds none pending before it gets one
	// conflict.
	if conflicts := len(s.log) - (pods + 1); conflicts > pods {
		t.Errorf("%d writes were in vain", conflicts)
	}
}
