package apiserver_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
)

func quantity(text string) resource.Quantity { return resource.MustParse(text) }

// evictions is a namespace with pods that one budget selects.
type evictions struct {
	t      *testing.T
	ns     string
	client *kubernetes.Clientset
}

func newEvictions(t *testing.T) evictions {
	e := evictions{t, namespace(t), clientset(t, remote(t))}
	return e
}

// pod creates a pod on a node, with a phase and readiness.
func (e evictions) pod(name string, phase corev1.PodPhase, ready corev1.ConditionStatus) *corev1.Pod {
	e.t.Helper()
	ctx, pods := e.t.Context(), e.client.CoreV1().Pods(e.ns)
	p, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:       name,
			Labels:     map[string]string{"app": "a"},
			Finalizers: []string{"example.com/hold"},
		},
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	p.Status.Phase = phase
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	if p, err = pods.UpdateStatus(ctx, p, metav1.UpdateOptions{}); err != nil {
		e.t.Fatal(err)
	}
	return p
}

// budget creates a budget, or replaces its status.
func (e evictions) budget(name string, change func(*policyv1.PodDisruptionBudget)) {
	e.t.Helper()
	ctx, budgets := e.t.Context(), e.client.PolicyV1().PodDisruptionBudgets(e.ns)
	b, err := budgets.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		n := intstr.FromInt32(1)
		b, err = budgets.Create(
			ctx,
			&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: policyv1.PodDisruptionBudgetSpec{
				MinAvailable: &n, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
			}},
			metav1.CreateOptions{},
		)
	}
	if err != nil {
		e.t.Fatal(err)
	}
	change(b)
	if _, err := budgets.UpdateStatus(ctx, b, metav1.UpdateOptions{}); err != nil {
		e.t.Fatal(err)
	}
}

// evict sends one request. A client would retry when it is told to wait.
func (e evictions) evict(name string, options *metav1.DeleteOptions) error {
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name}, DeleteOptions: options}
	return e.client.CoreV1().RESTClient().Post().MaxRetries(0).Namespace(
		e.ns,
	).Resource("pods").Name(
		name,
	).SubResource("eviction").
		Body(eviction).Do(
		e.t.Context(),
	).Error()
}

// expectRefused checks that the response is 429 with a cause that contains text.
func (e evictions) expectRefused(err error, text string) {
	e.t.Helper()
	if !apierrors.IsTooManyRequests(err) || !apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
		e.t.Fatalf("got %v, want 429 for the budget", err)
	}
	cause, _ := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause)
	if !strings.Contains(cause.Message, text) {
		e.t.Errorf("the cause is %q, want one that says %q", cause.Message, text)
	}
}

// expectEvicted checks that the pod has the condition of an eviction and is terminating or deleted.
func (e evictions) expectEvicted(name string) {
	e.t.Helper()
	p := pod(e.t, e.client.CoreV1().Pods(e.ns), name)
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == "EvictionByEvictionAPI" &&
			p.DeletionTimestamp != nil {
			return
		}
	}
	e.t.Errorf("%s: deleted %v, conditions %v", name, p.DeletionTimestamp, p.Status.Conditions)
}

func (e evictions) expectNotEvicted(name string) {
	e.t.Helper()
	if p := pod(e.t, e.client.CoreV1().Pods(e.ns), name); p.DeletionTimestamp != nil {
		e.t.Errorf("%s is being deleted", name)
	}
}

func TestEvictionSpendsTheBudget(t *testing.T) {
	e := newEvictions(t)
	e.pod("a", corev1.PodRunning, corev1.ConditionTrue)
	e.pod("b", corev1.PodRunning, corev1.ConditionTrue)
	e.budget("b", func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 1 })
	e.expectRefused(e.evict("a", nil), "not counted yet")
	e.budget("b", func(b *policyv1.PodDisruptionBudget) {
		b.Status.ObservedGeneration, b.Status.DesiredHealthy, b.Status.CurrentHealthy = 1, 1, 2
	})
	if err := e.evict("a", &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
	e.expectNotEvicted("a")
	wrong := types.UID("wrong")
	if err := e.evict("a", &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}}); !apierrors.IsConflict(
		err,
	) {
		t.Errorf("another UID: got %v, want conflict", err)
	}
	if err := e.evict("a", nil); err != nil {
		t.Fatal(err)
	}
	e.expectEvicted("a")
	b, err := e.client.PolicyV1().PodDisruptionBudgets(e.ns).Get(t.Context(), "b", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := b.Status.DisruptedPods["a"]; !ok || b.Status.DisruptionsAllowed != 0 || len(b.Status.Conditions) != 1 ||
		b.Status.Conditions[0].Reason != policyv1.InsufficientPodsReason {
		t.Errorf("budget afterwards: %+v", b.Status)
	}
	e.budget("b", func(b *policyv1.PodDisruptionBudget) { b.Status.CurrentHealthy = 1 })
	e.expectRefused(e.evict("b", nil), "needs 1 healthy pods and has 1 currently")
	e.expectNotEvicted("b")
}

func TestEvictionWithoutBudget(t *testing.T) {
	e := newEvictions(t)
	p := e.pod("a", corev1.PodRunning, corev1.ConditionTrue)
	old := "1"
	if err := e.evict("a", &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &old}}); !apierrors.IsConflict(
		err,
	) {
		t.Errorf("another version: got %v, want conflict", err)
	}
	e.expectNotEvicted("a")
	if err := e.evict("a", &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID,
		ResourceVersion: &p.ResourceVersion}}); err != nil {
		t.Fatal(err)
	}
	e.expectEvicted("a")
	if err := e.evict("none", nil); !apierrors.IsNotFound(err) {
		t.Errorf("missing pod: got %v, want not found", err)
	}
}

// TestEvictionOfUnhealthyPods evicts pods that do not count as healthy, which costs no
// disruption.
func TestEvictionOfUnhealthyPods(t *testing.T) {
	e := newEvictions(t)
	e.budget("b", func(b *policyv1.PodDisruptionBudget) { b.Status.ObservedGeneration, b.Status.DesiredHealthy = 1, 1 })
	e.pod("pending", corev1.PodPending, corev1.ConditionFalse)
	e.pod("succeeded", corev1.PodSucceeded, corev1.ConditionFalse)
	e.pod("unready", corev1.PodRunning, corev1.ConditionFalse)
	for _, name := range []string{"pending", "succeeded"} {
		if err := e.evict(name, nil); err != nil {
			t.Fatal(err)
		}
		e.expectEvicted(name)
	}
	e.expectRefused(e.evict("unready", nil), "needs 1 healthy pods")
	e.budget("b", func(b *policyv1.PodDisruptionBudget) { b.Status.CurrentHealthy = 1 })
	if err := e.evict("unready", nil); err != nil {
		t.Fatal(err)
	}
	e.expectEvicted("unready")
}

func TestAlwaysAllowEvictsUnreadyPods(t *testing.T) {
	e := newEvictions(t)
	always := policyv1.AlwaysAllow
	create(
		t,
		e.ns,
		`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},"spec":{"minAvailable":1,
		"selector":{"matchLabels":{"app":"a"}},"unhealthyPodEvictionPolicy":"`+string(always)+`"}}`,
	)
	e.pod("a", corev1.PodRunning, corev1.ConditionFalse)
	if err := e.evict("a", nil); err != nil {
		t.Fatal(err)
	}
	e.expectEvicted("a")
}

func TestEvictionOfAPodWithTwoBudgets(t *testing.T) {
	e := newEvictions(t)
	e.pod("a", corev1.PodRunning, corev1.ConditionTrue)
	for _, name := range []string{"b", "c"} {
		e.budget(name,
			func(b *policyv1.PodDisruptionBudget) { b.Status.ObservedGeneration, b.Status.DisruptionsAllowed = 1, 1 })
	}
	if err := e.evict("a", nil); !apierrors.IsInternalError(err) &&
		apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		t.Errorf("got %v, want an error of the server", err)
	} else if err == nil || !strings.Contains(err.Error(), "more than one PodDisruptionBudget") {
		t.Errorf("got %v", err)
	}
	e.expectNotEvicted("a")
}

func TestInvalidEvictionsAreRejected(t *testing.T) {
	e := newEvictions(t)
	e.pod("a", corev1.PodRunning, corev1.ConditionTrue)
	err := e.client.CoreV1().RESTClient().Post().Namespace(e.ns).Resource("pods").Name("a").SubResource("eviction").
		Body([]byte(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"b"}}`)).Do(t.Context()).Error()
	if !apierrors.IsBadRequest(err) {
		t.Errorf("another name: got %v, want a bad request", err)
	}
	risky := true
	err = e.evict("a", &metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: &risky})
	if !apierrors.IsInvalid(err) {
		t.Errorf("a dangerous option: got %v, want invalid", err)
	}
	e.expectNotEvicted("a")
}
