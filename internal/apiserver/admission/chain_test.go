package admission

import (
	"context"
	"slices"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// world is a Reader of the objects of a test.
type world struct {
	namespaces map[string]corev1.NamespacePhase
	classes    []schedulingv1.PriorityClass
	labels     map[string]string // of each namespace
	ranges     []corev1.LimitRange
	nodes      map[string]map[string]string
	accounts   []corev1.ServiceAccount
}

func (w world) ServiceAccount(_ context.Context, _, name string) (*corev1.ServiceAccount, bool, error) {
	i := slices.IndexFunc(w.accounts, func(a corev1.ServiceAccount) bool { return a.Name == name })
	if i < 0 {
		return nil, false, nil
	}
	return &w.accounts[i], true, nil
}

func (w world) Node(_ context.Context, name string) (*corev1.Node, bool, error) {
	labels, ok := w.nodes[name]
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}}, ok, nil
}

func (w world) Namespace(_ context.Context, name string) (*corev1.Namespace, bool, error) {
	phase, ok := w.namespaces[name]
	return &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Labels: w.labels},
		Status:     corev1.NamespaceStatus{Phase: phase},
	}, ok, nil
}

func (w world) Workload(context.Context, string, string) (*scheduling.Workload, bool, error) {
	return nil, false, nil
}

func (w world) PriorityClass(_ context.Context, name string) (*schedulingv1.PriorityClass, bool, error) {
	i := slices.IndexFunc(w.classes, func(c schedulingv1.PriorityClass) bool { return c.Name == name })
	if i < 0 {
		return nil, false, nil
	}
	return &w.classes[i], true, nil
}

func (w world) LimitRanges(context.Context, string) ([]corev1.LimitRange, error) {
	return w.ranges, nil
}

func (w world) PriorityClasses(context.Context) ([]schedulingv1.PriorityClass, error) {
	return w.classes, nil
}

func class(name string, value int32, isDefault bool) schedulingv1.PriorityClass {
	return schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, GlobalDefault: isDefault}
}

func request(obj runtime.Object, resource, namespace string, op admission.Operation) admission.Attributes {
	return admission.NewAttributesRecord(obj, nil, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, namespace, "x",
		schema.GroupVersionResource{Version: "v1", Resource: resource}, "", op, nil, false, nil)
}

func TestPriorityOfPods(t *testing.T) {
	active := map[string]corev1.NamespacePhase{"ns": corev1.NamespaceActive}
	tests := []struct {
		name      string
		classes   []schedulingv1.PriorityClass
		class     string
		given     *int32
		wantClass string
		want      int32
		refused   bool
	}{
		{"no classes", nil, "", nil, "", 0, false},
		{"no default", []schedulingv1.PriorityClass{class("a", 5, false)}, "", nil, "", 0, false},
		{"default", []schedulingv1.PriorityClass{class("a", 5, true)}, "", nil, "a", 5, false},
		{
			"the lower of two defaults",
			[]schedulingv1.PriorityClass{class("a", 5, true), class("b", 3, true)},
			"",
			nil,
			"b",
			3,
			false,
		},
		{"named", []schedulingv1.PriorityClass{class("a", 5, true), class("b", 3, false)}, "b", nil, "b", 3, false},
		{"same value", []schedulingv1.PriorityClass{class("b", 3, false)}, "b", new(int32(3)), "b", 3, false},
		{"another value", []schedulingv1.PriorityClass{class("b", 3, false)}, "b", new(int32(4)), "", 0, true},
		{"unknown", nil, "b", nil, "", 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			chain := New(world{namespaces: active, classes: tt.classes}, Rules{})
			pod := &core.Pod{}
			pod.Spec.PriorityClassName, pod.Spec.Priority = tt.class, tt.given
			err := chain.Admit(t.Context(), request(pod, "pods", "ns", admission.Create), nil)
			if tt.refused {
				if !apierrors.IsForbidden(err) {
					t.Errorf("got %v, want forbidden", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if *pod.Spec.Priority != tt.want || pod.Spec.PriorityClassName != tt.wantClass {
				t.Errorf("pod has %d by %q, want %d by %q", *pod.Spec.Priority, pod.Spec.PriorityClassName, tt.want, tt.wantClass)
			}
			group := &scheduling.PodGroup{}
			group.Spec.PriorityClassName = tt.class
			group.Spec.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
			if err := chain.Admit(t.Context(), request(group, "podgroups", "ns", admission.Create), nil); err != nil {
				t.Fatal(err)
			}
			if *group.Spec.Priority != tt.want {
				t.Errorf("group has %d, want %d", *group.Spec.Priority, tt.want)
			}
		})
	}
}

func TestOnlyOneDefaultClass(t *testing.T) {
	chain := New(world{classes: []schedulingv1.PriorityClass{class("a", 5, true), class("b", 3, false)}}, Rules{})
	for name, refused := range map[string]bool{"a": false, "b": true} {
		c := class(name, 5, true)
		err := chain.Validate(t.Context(), request(&c, "priorityclasses", "", admission.Update), nil)
		if apierrors.IsForbidden(err) != refused {
			t.Errorf("%s as default: got %v", name, err)
		}
	}
}

func TestNamespaceAllows(t *testing.T) {
	chain := New(
		world{
			namespaces: map[string]corev1.NamespacePhase{"live": corev1.NamespaceActive, "going": corev1.NamespaceTerminating},
		},
		Rules{},
	)
	tests := []struct {
		namespace string
		op        admission.Operation
		reason    metav1.StatusReason
	}{
		{"live", admission.Create, metav1.StatusReasonUnknown},
		{"going", admission.Create, metav1.StatusReasonForbidden},
		{"going", admission.Update, metav1.StatusReasonUnknown},
		{"going", admission.Delete, metav1.StatusReasonUnknown},
		{"none", admission.Create, metav1.StatusReasonNotFound},
		{"", admission.Create, metav1.StatusReasonUnknown},
	}
	for _, tt := range tests {
		err := chain.Admit(t.Context(), request(&corev1.ConfigMap{}, "configmaps", tt.namespace, tt.op), nil)
		if got := apierrors.ReasonForError(err); got != tt.reason {
			t.Errorf("%s in %q: got %v (%s), want %q", tt.op, tt.namespace, err, got, tt.reason)
		}
	}
	review := admission.NewAttributesRecord(
		&authorizationv1.LocalSubjectAccessReview{},
		nil,
		schema.GroupVersionKind{},
		"none",
		"",
		authorizationv1.SchemeGroupVersion.WithResource("localsubjectaccessreviews"),
		"",
		admission.Create,
		nil,
		false,
		nil,
	)
	if err := chain.Admit(t.Context(), review, nil); err != nil {
		t.Errorf("a question about rights in a namespace that there is not: %v", err)
	}
}

// lateAccounts is a Reader that finds ServiceAccounts only after some attempts.
type lateAccounts struct {
	world

	looks int
}

func (l *lateAccounts) ServiceAccount(_ context.Context, _, name string) (*corev1.ServiceAccount, bool, error) {
	l.looks--
	if l.looks > 0 {
		return nil, false, nil
	}
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, true, nil
}
