package admission

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apiserver/pkg/admission"

	core "github.com/allot-dev/allot/api/core/v1"
)

// amounts parses a list such as "cpu=1 memory=1Gi".
func amounts(text string) corev1.ResourceList {
	if text == "" {
		return nil
	}
	out := corev1.ResourceList{}
	for part := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(part, "=")
		out[corev1.ResourceName(name)] = apiresource.MustParse(value)
	}
	return out
}

func limitsOf(items ...corev1.LimitRangeItem) world {
	return world{
		namespaces: map[string]corev1.NamespacePhase{"ns": corev1.NamespaceActive},
		ranges:     []corev1.LimitRange{{Spec: corev1.LimitRangeSpec{Limits: items}}},
	}
}

func podWith(requests, limits string) *core.Pod {
	pod := &core.Pod{}
	for _, name := range []string{"a", "b"} {
		resources := corev1.ResourceRequirements{Requests: amounts(requests), Limits: amounts(limits)}
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name, Resources: resources})
	}
	return pod
}

func TestLimitRangeDefaults(t *testing.T) {
	w := limitsOf(corev1.LimitRangeItem{
		Type: corev1.LimitTypeContainer, Default: amounts("cpu=2 memory=1Gi"), DefaultRequest: amounts("cpu=1"),
	})
	pod := podWith("", "cpu=3")
	pod.Spec.InitContainers = []corev1.Container{{Name: "i"}}
	if err := New(w, Rules{}).Admit(t.Context(), request(pod, "pods", "ns", admission.Create), nil); err != nil {
		t.Fatal(err)
	}
	const want = "LimitRanger plugin set: cpu request for container a; memory limit for container a; " +
		"cpu request for container b; memory limit for container b; cpu request for init container i; cpu, memory limit for init container i"
	if got := pod.Annotations[limitRangerAnnotation]; got != want {
		t.Errorf("got annotation\n%s, want\n%s", got, want)
	}
	first := pod.Spec.Containers[0].Resources
	if cpu, request := first.Limits.Cpu(), first.Requests.Cpu(); cpu.Value() != 3 || request.Value() != 1 {
		t.Errorf("container a has %s of %s CPUs, want 1 of 3", request, cpu)
	}
}

func TestLimitRangeOfPods(t *testing.T) {
	container := corev1.LimitRangeItem{
		Type: corev1.LimitTypeContainer, Min: amounts("cpu=100m"), Max: amounts("cpu=2"),
		MaxLimitRequestRatio: amounts("cpu=4"),
	}
	whole := corev1.LimitRangeItem{Type: corev1.LimitTypePod, Max: amounts("memory=2Gi")}
	for _, tt := range []struct {
		name             string
		item             corev1.LimitRangeItem
		requests, limits string
		want             string // a part of the error
	}{
		{"within", container, "cpu=500m", "cpu=2", ""},
		{"no request", container, "", "cpu=1", "minimum cpu usage per Container is 100m.  No request is specified"},
		{"request too small", container, "cpu=50m", "cpu=100m",
			"minimum cpu usage per Container is 100m, but request is 50m"},
		{"no limit", container, "cpu=1", "", "maximum cpu usage per Container is 2.  No limit is specified"},
		{"limit too large", container, "cpu=1", "cpu=3", "maximum cpu usage per Container is 2, but limit is 3"},
		{"ratio", container, "cpu=100m", "cpu=1", "cpu max limit to request ratio per Container is 4, but provided ratio is 10.000000"},
		{"pod within", whole, "memory=1Gi", "memory=1Gi", ""},
		{"pod too large", whole, "memory=1Gi", "memory=1025Mi", "maximum memory usage per Pod is 2Gi, but limit is 2050Mi"},
	} {
		pod := podWith(tt.requests, tt.limits)
		err := New(limitsOf(tt.item), Rules{}).Validate(t.Context(), request(pod, "pods", "ns", admission.Create), nil)
		checkRefusal(t, tt.name, err, tt.want)
	}
}

func TestLimitRangeOfVolumeClaims(t *testing.T) {
	w := limitsOf(
		corev1.LimitRangeItem{
			Type: corev1.LimitTypePersistentVolumeClaim,
			Min:  amounts("storage=1Gi"),
			Max:  amounts("storage=5Gi"),
		},
	)
	for requests, want := range map[string]string{
		"storage=2Gi": "",
		"storage=1Mi": "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi",
		"storage=6Gi": "maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi",
	} {
		claim := &corev1.PersistentVolumeClaim{}
		claim.Spec.Resources.Requests = amounts(requests)
		for _, op := range []admission.Operation{admission.Create, admission.Update} {
			err := New(w, Rules{}).Validate(t.Context(), request(claim, "persistentvolumeclaims", "ns", op), nil)
			checkRefusal(t, requests, err, want)
		}
	}
}

func checkRefusal(t *testing.T, name string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", name, err)
	case want != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: got %v, want %s", name, err, want)
	}
}
