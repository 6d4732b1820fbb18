package claim

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/claims/claimstest"
)

// The claims of a new pod are left to the scheduler that creates them, until the pod waits or the
// scheduler has had time; with another scheduler, or if only the controller can record a name, they
// are created at once.
func TestClaimsAreLeftToTheScheduler(t *testing.T) {
	for name, test := range map[string]struct {
		objects string
		change  func(*core.Pod)
		after   time.Duration
		created int
	}{
		"new":     {change: func(*core.Pod) {}, created: 0},
		"not yet": {change: func(*core.Pod) {}, after: creationPeriod - time.Second, created: 0},
		"old":     {change: func(*core.Pod) {}, after: creationPeriod, created: 1},
		"waits": {change: func(pod *core.Pod) {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse}}
		}, created: 1},
		"another scheduler": {change: func(pod *core.Pod) { pod.Spec.SchedulerName = "another" }, created: 1},
		"no record":         {change: func(pod *core.Pod) { pod.Status.ResourceClaimStatuses = nil }, created: 1},
		"bound":             {change: func(pod *core.Pod) { pod.Spec.NodeName = "n" }, created: 1},
		"of a cluster template": {
			objects: "template x\nclustertemplate x\npod p uid=1 claims=a:template/x,b:cluster/x", change: func(*core.Pod) {}, created: 2,
		},
		"of a group": {
			objects: "template x\ngroup g uid=2 claims=s:template/x\npod p uid=1 group=g claims=s:group/s,a:template/x",
			change:  func(*core.Pod) {}, created: 2, // the group's own claim, and then the pod needs a record
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.controller.scheduler = "default-scheduler"
			objects := test.objects
			if objects == "" {
				objects = "template x\npod p uid=1 claims=a:template/x"
			}
			parsed, err := claimstest.Parse(objects)
			if err != nil {
				t.Fatal(err)
			}
			pod := parsed.Pods[0]
			pod.Spec.SchedulerName, pod.CreationTimestamp = "default-scheduler", metav1.NewTime(w.clock.Now())
			var group *scheduling.PodGroup
			if len(parsed.Groups) > 0 {
				group = parsed.Groups[0]
			}
			pod.Status.ResourceClaimStatuses = claims.KnownClaims(pod, group, func(string) bool { return true })
			test.change(pod)
			w.clock.SetTime(w.clock.Now().Add(test.after))
			w.put(parsed)
			w.work()
			if created := len(w.claims.live); created != test.created {
				t.Errorf("%d claims, want %d; %v", created, test.created, w.log)
			}
			if test.created == 0 && len(w.later) == 0 {
				t.Error("the pod is not looked at again")
			}
		})
	}
}

// A pod that the scheduler tried in vain gets its claims when it gets the condition, and not only
// when the scheduler's time is over.
func TestClaimsOfAPodThatBeginsToWait(t *testing.T) {
	w := newWorld()
	w.controller.scheduler = "default-scheduler"
	parsed := parse(t, "template x\npod p uid=1 claims=a:template/x")
	pod := parsed.Pods[0]
	pod.Spec.SchedulerName, pod.CreationTimestamp = "default-scheduler", metav1.NewTime(w.clock.Now())
	pod.Status.ResourceClaimStatuses = claims.KnownClaims(pod, nil, func(string) bool { return true })
	w.put(parsed)
	w.work()
	if created := len(w.claims.live); created != 0 {
		t.Fatalf("%d claims before the pod was tried", created)
	}
	waiting := pod.DeepCopy()
	waiting.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse}}
	w.pods.put(waiting)
	w.work()
	if created := len(w.claims.live); created != 1 {
		t.Errorf("%d claims, want 1; %v", created, w.log)
	}
}
