package job

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/controller/controllertest"
)

// epoch is the start time of scenarios.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// workloadStore is a cache with workloadIndex.
type workloadStore struct {
	controllertest.Store[*scheduling.Workload]
}

func (s workloadStore) ByIndex(_, key string) []*scheduling.Workload {
	return slices.DeleteFunc(s.InNamespace(""),
		func(w *scheduling.Workload) bool { return !slices.Contains(workloadKeys(w), key) })
}

type stored struct {
	jobs      controllertest.Store[*batch.Job]
	pods      controllertest.Store[*core.Pod]
	workloads workloadStore
	groups    controllertest.Store[*scheduling.PodGroup]
}

func newStored() stored {
	return stored{
		controllertest.Store[*batch.Job]{}, controllertest.Store[*core.Pod]{},
		workloadStore{controllertest.Store[*scheduling.Workload]{}}, controllertest.Store[*scheduling.PodGroup]{},
	}
}

// world is a server, caches that lag behind it until sync, and a controller that uses both. All
// writes, events and waits are recorded as lines.
type world struct {
	*Controller
	mu      sync.Mutex
	server  stored
	cache   stored
	now     *testclock.FakePassiveClock
	version int
	made    map[string]int // number of created pods, by name prefix
	lines   []string
	waiting []Key
	later   map[Key]time.Time

	lost   []string // verbs of requests for pods whose responses are lost
	lag    bool     // caches do not change while the controller works
	refuse func(verb, name string) error
	freed  func(pod *core.Pod) // called with each pod that loses the finalizer, as it is then
}

func newWorld() *world {
	w := &world{
		server:  newStored(),
		now:     testclock.NewFakePassiveClock(epoch),
		version: 100,
		made:    map[string]int{},
		freed:   func(*core.Pod) {},
	}
	w.refuse = func(string, string) error { return nil }
	w.restart()
	return w
}

// restart replaces the controller by a new one, whose caches are empty and are then filled.
func (w *world) restart() {
	w.cache, w.waiting, w.later = newStored(), nil, map[Key]time.Time{}
	w.Controller = newController(
		Caches{Jobs: w.cache.jobs, Pods: w.cache.pods, Workloads: w.cache.workloads, Groups: w.cache.groups},
		Server{
			Pods: serverOfPods{w}, Jobs: serverOfJobs{w},
			Workloads: serverOfWorkloads{w}, Groups: serverOfGroups{w},
		}, w, w.now,
	)
	w.queue = w
	w.sync()
}

func (w *world) say(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

func (w *world) stamp(m *metav1.ObjectMeta) {
	w.version++
	m.Namespace, m.ResourceVersion = "default", strconv.Itoa(w.version)
	if m.UID == "" {
		m.UID = types.UID("uid-" + m.Name)
		m.CreationTimestamp = metav1.NewTime(w.now.Now())
	}
}

// sync makes the caches equal to the server, and delivers the events.
func (w *world) sync() {
	w.cache.jobs.Follow(w.server.jobs, w.onJob)
	w.cache.workloads.Follow(w.server.workloads.Store, w.onWorkload)
	w.cache.groups.Follow(w.server.groups, w.onGroup)
	w.syncPods()
}

func (w *world) syncPods() { w.cache.pods.Follow(w.server.pods, w.onPod) }

// work reconciles until the queue is empty. Failed keys are retried.
func (w *world) work() {
	for range 100 {
		if len(w.waiting) == 0 {
			return
		}
		w.step()
	}
	w.say("does not come to rest")
}

func (w *world) step() {
	key := w.waiting[0]
	w.waiting = w.waiting[1:]
	if err := w.Reconcile(context.Background(), key); err != nil {
		w.say("error: %v", err)
		w.Add(key)
	}
	if !w.lag {
		w.sync()
	}
}

func (w *world) Add(key Key) {
	if !slices.Contains(w.waiting, key) {
		w.waiting = append(w.waiting, key)
	}
}

func (w *world) AddAfter(key Key, d time.Duration) {
	if d == gatherWindow {
		w.Add(key)
		return
	}
	due := w.now.Now().Add(d)
	if at, ok := w.later[key]; ok && !at.After(due) {
		return
	}
	w.later[key] = due
	w.say("%s again in %v", key.Name, d)
}

// advance advances the clock, and enqueues the keys that are due.
func (w *world) advance(by time.Duration) {
	w.now.SetTime(w.now.Now().Add(by))
	byName := func(a, b Key) int { return strings.Compare(a.Name, b.Name) }
	for _, key := range slices.SortedFunc(maps.Keys(w.later), byName) {
		if !w.later[key].After(w.now.Now()) {
			delete(w.later, key)
			w.Add(key)
		}
	}
}

func (w *world) Eventf(object runtime.Object, eventtype, reason, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !strings.HasPrefix(reason, "Successful") {
		w.say("event %s %s: %s", eventtype, reason, fmt.Sprintf(format, args...))
	}
}

// The servers of the kinds of a world.
type (
	serverOfPods      struct{ *world }
	serverOfJobs      struct{ *world }
	serverOfWorkloads struct{ *world }
	serverOfGroups    struct{ *world }
)

func notFound(resource, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name)
}

func (s serverOfPods) Create(_ context.Context, pod *core.Pod) (*core.Pod, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refuse("create", pod.GenerateName); err != nil {
		return nil, err
	}
	s.made[pod.GenerateName]++
	pod = pod.DeepCopy()
	pod.Name = pod.GenerateName + strconv.Itoa(s.made[pod.GenerateName])
	pod.Status.Phase = corev1.PodPending
	s.stamp(&pod.ObjectMeta)
	s.server.pods[pod.Name] = pod
	line := "create pod " + pod.Name
	if g := pod.Spec.SchedulingGroup; g != nil {
		line += " in " + *g.PodGroupName
	}
	for _, a := range []string{batchv1.JobIndexFailureCountAnnotation, batchv1.JobIndexIgnoredFailureCountAnnotation} {
		if count, ok := pod.Annotations[a]; ok && count != "0" {
			line += " " + strings.TrimPrefix(a, "batch.kubernetes.io/job-index-") + "=" + count
		}
	}
	s.say("%s", line)
	return pod, s.response("create")
}

func (s serverOfPods) LiveMatching(_ context.Context, _ string, selector labels.Selector) ([]*core.Pod, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say("list pods")
	return s.server.pods.Matching(selector), nil
}

func (s serverOfPods) Patch(_ context.Context, pod *core.Pod, patch []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	live, ok := s.server.pods[pod.Name]
	if !ok || live.UID != pod.UID {
		return notFound("pods", pod.Name)
	}
	if err := s.refuse("patch", pod.Name); err != nil {
		return err
	}
	var from core.Pod
	if err := json.Unmarshal(patch, &from); err != nil {
		return err
	}
	if from.ResourceVersion != "" && from.ResourceVersion != live.ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, pod.Name, errors.New("changed"))
	}
	patched, err := controllertest.Applied(live, patch)
	if err != nil {
		return err
	}
	switch was, is := isTracked(live), isTracked(patched); {
	case was && !is:
		s.say("free pod %s", pod.Name)
		s.freed(live)
	default:
		s.say("patch pod %s: owners=%d tracked=%t", pod.Name, len(patched.OwnerReferences), is)
	}
	s.putPod(patched)
	return nil
}

// putPod stores a pod, or removes it if it is being deleted and has no finalizers.
func (w *world) putPod(pod *core.Pod) {
	grace := pod.DeletionGracePeriodSeconds
	if pod.DeletionTimestamp != nil && grace != nil && *grace == 0 && len(pod.Finalizers) == 0 {
		delete(w.server.pods, pod.Name)
	} else {
		w.stamp(&pod.ObjectMeta)
		w.server.pods[pod.Name] = pod
	}
	w.collect()
}

func (s serverOfPods) Delete(_ context.Context, pod *core.Pod) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	live, ok := s.server.pods[pod.Name]
	if !ok || live.UID != pod.UID {
		return notFound("pods", pod.Name)
	}
	if err := s.refuse("delete", pod.Name); err != nil {
		return err
	}
	s.say("delete pod %s", pod.Name)
	s.deletePod(live)
	return s.response("delete")
}

// response returns an error if the response of a request for a pod is to be lost.
func (w *world) response(verb string) error {
	if slices.Contains(w.lost, verb) {
		return errors.New("connection reset by peer")
	}
	return nil
}

// deletePod deletes a pod, gracefully if it is on a node.
func (w *world) deletePod(live *core.Pod) {
	live = live.DeepCopy()
	grace := int64(30)
	if live.Spec.NodeName == "" || live.Finished() {
		grace = 0
	}
	at := metav1.NewTime(w.now.Now().Add(time.Duration(grace) * time.Second))
	live.DeletionTimestamp, live.DeletionGracePeriodSeconds = &at, &grace
	w.putPod(live)
}

func (s serverOfJobs) Live(_ context.Context, _, name string) (*batch.Job, error) {
	job, ok := s.server.jobs[name]
	if !ok {
		return nil, notFound("jobs", name)
	}
	return job, nil
}

func (s serverOfJobs) UpdateStatus(_ context.Context, job *batch.Job) (*batch.Job, error) {
	live, ok := s.server.jobs[job.Name]
	if !ok {
		return nil, notFound("jobs", job.Name)
	}
	if live.ResourceVersion != job.ResourceVersion {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "jobs"}, job.Name, errors.New("changed"))
	}
	if err := s.refuse("status", job.Name); err != nil {
		return nil, err
	}
	job = job.DeepCopy()
	s.stamp(&job.ObjectMeta)
	s.server.jobs[job.Name] = job
	s.say("status %s: %s", job.Name, statusText(job.Status))
	return job, nil
}

func statusText(s batchv1.JobStatus) string {
	line := fmt.Sprintf("active=%d ready=%d terminating=%d succeeded=%d failed=%d", s.Active, *s.Ready, *s.Terminating,
		s.Succeeded, s.Failed)
	if u := s.UncountedTerminatedPods; len(u.Succeeded)+len(u.Failed) > 0 {
		line += fmt.Sprintf(" uncounted=%d+%d", len(u.Succeeded), len(u.Failed))
	}
	if s.CompletedIndexes != "" {
		line += " completed=" + s.CompletedIndexes
	}
	if s.FailedIndexes != nil && *s.FailedIndexes != "" {
		line += " failedIndexes=" + *s.FailedIndexes
	}
	if s.StartTime == nil {
		line += " not started"
	} else if !s.StartTime.Time.Equal(epoch) {
		line += fmt.Sprintf(" started=%v", s.StartTime.Sub(epoch))
	}
	for _, c := range s.Conditions {
		line += fmt.Sprintf(" %s=%s/%s", c.Type, c.Status, c.Reason)
	}
	return line
}

func (s serverOfWorkloads) Create(_ context.Context, workload *scheduling.Workload) (*scheduling.Workload, error) {
	if err := s.refuse("create", workload.Name); err != nil {
		return nil, err
	}
	if _, ok := s.server.workloads.Store[workload.Name]; ok {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "workloads"}, workload.Name)
	}
	workload = workload.DeepCopy()
	s.stamp(&workload.ObjectMeta)
	s.server.workloads.Store[workload.Name] = workload
	s.say("create Workload %s: %s", workload.Name, templateText(workload.Spec.PodGroupTemplates[0]))
	return workload, nil
}

func templateText(t scheduling.PodGroupTemplate) string {
	line := policyText(t.SchedulingPolicy)
	for _, c := range t.ResourceClaims {
		line += " claim=" + c.Name
	}
	if c := t.SchedulingConstraints; c != nil {
		line += " topology=" + c.Topology[0].Key
	}
	if m := t.DisruptionMode; m != nil {
		line += fmt.Sprintf(" disruption all=%t", m.All != nil)
	}
	if t.PriorityClassName != "" {
		line += " priority=" + t.PriorityClassName
	}
	return line
}

func policyText(p schedulingv1beta1.PodGroupSchedulingPolicy) string {
	if p.Gang == nil {
		return "basic"
	}
	return fmt.Sprintf("gang of %d", p.Gang.MinCount)
}

func (s serverOfWorkloads) Delete(_ context.Context, workload *scheduling.Workload) error {
	if err := s.refuse("delete", workload.Name); err != nil {
		return err
	}
	s.say("delete Workload %s", workload.Name)
	delete(s.server.workloads.Store, workload.Name)
	return nil
}

func (g serverOfGroups) Create(_ context.Context, group *scheduling.PodGroup) (*scheduling.PodGroup, error) {
	if err := g.refuse("create", group.Name); err != nil {
		return nil, err
	}
	if _, ok := g.server.groups[group.Name]; ok {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "podgroups"}, group.Name)
	}
	group = group.DeepCopy()
	g.stamp(&group.ObjectMeta)
	g.server.groups[group.Name] = group
	var owners []string
	for _, o := range group.OwnerReferences {
		owners = append(owners, o.Kind+" "+o.Name)
	}
	s := group.Spec
	parent := ""
	if s.ParentCompositePodGroupName != nil {
		parent = ", in CompositePodGroup " + *s.ParentCompositePodGroupName
	}
	g.say(
		"create PodGroup %s of %s: %s, owners %s%s",
		group.Name,
		s.WorkloadRef.WorkloadName,
		templateText(scheduling.PodGroupTemplate{
			SchedulingPolicy: s.SchedulingPolicy, SchedulingConstraints: s.SchedulingConstraints,
			ResourceClaims: s.ResourceClaims,
			DisruptionMode: s.DisruptionMode, PriorityClassName: s.PriorityClassName,
		}),
		strings.Join(owners, ", "),
		parent,
	)
	return group, nil
}

func (g serverOfGroups) Resize(_ context.Context, group *scheduling.PodGroup, minCount int32) error {
	live, ok := g.server.groups[group.Name]
	if !ok {
		return notFound("podgroups", group.Name)
	}
	live = live.DeepCopy()
	live.Spec.SchedulingPolicy.Gang.MinCount = minCount
	g.stamp(&live.ObjectMeta)
	g.server.groups[group.Name] = live
	g.say("PodGroup %s: gang of %d", group.Name, minCount)
	return nil
}

func (g serverOfGroups) Delete(_ context.Context, group *scheduling.PodGroup) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	live, ok := g.server.groups[group.Name]
	if !ok {
		return notFound("podgroups", group.Name)
	}
	g.say("delete PodGroup %s", group.Name)
	live = live.DeepCopy()
	now := metav1.NewTime(g.now.Now())
	live.DeletionTimestamp = &now
	g.stamp(&live.ObjectMeta)
	g.server.groups[group.Name] = live
	g.collect()
	return nil
}

// collect removes the PodGroups that are being deleted and that no unfinished pod names.
func (w *world) collect() {
	for name, group := range w.server.groups {
		if group.DeletionTimestamp == nil {
			continue
		}
		if !slices.ContainsFunc(w.server.pods.InNamespace(""), func(pod *core.Pod) bool {
			g := pod.Spec.SchedulingGroup
			return g != nil && *g.PodGroupName == name && !pod.Finished()
		}) {
			w.say("PodGroup %s is gone", name)
			delete(w.server.groups, name)
		}
	}
}

// flush returns the recorded lines. Lines about consecutive writes of pods, which are concurrent,
// are sorted.
func (w *world) flush() string {
	lines := w.lines
	w.lines = nil
	order := []string{"create", "patch", "free", "delete"}
	rank := func(line string) int {
		verb, rest, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(rest, "pod ") {
			return -1
		}
		return slices.Index(order, verb)
	}
	for i := 0; i < len(lines); {
		j := i
		for j < len(lines) && rank(lines[j]) >= 0 {
			j++
		}
		slices.SortFunc(lines[i:j], func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
		i = max(j, i+1)
	}
	if len(lines) == 0 {
		return "ok\n"
	}
	return strings.Join(lines, "\n") + "\n"
}
