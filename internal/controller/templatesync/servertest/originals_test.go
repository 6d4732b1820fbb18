package servertest

import (
	"encoding/json"
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
)

var resource = allotv1alpha1.ClusterResourceClaimTemplates

// newNamespaces creates namespaces with the test's label.
func newNamespaces(t *testing.T, count int) []string {
	t.Helper()
	names := make([]string, count)
	var writers errgroup.Group
	writers.SetLimit(16)
	for i := range names {
		writers.Go(func() error {
			ns := &corev1.Namespace{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "templates-", Labels: map[string]string{"test": t.Name()}},
			}
			ns, err := typed.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
			if err == nil {
				names[i] = ns.Name
			}
			return err
		})
	}
	if err := writers.Wait(); err != nil {
		t.Fatal(err)
	}
	return names
}

func spec(class string) resourcev1.ResourceClaimSpec {
	r := resourcev1.DeviceRequest{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class}}
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{r}}}
}

// newOriginal creates an original for the test's namespaces; it is deleted at the end.
func newOriginal(t *testing.T, name, class string) {
	t.Helper()
	o := &allotv1alpha1.ClusterResourceClaimTemplate{
		TypeMeta: metav1.TypeMeta{
			APIVersion: allotv1alpha1.SchemeGroupVersion.String(),
			Kind:       allotv1alpha1.KindClusterResourceClaimTemplate,
		},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: allotv1alpha1.ClusterResourceClaimTemplateSpec{
			Metadata:          allotv1alpha1.TemplateMetadata{Labels: map[string]string{"made-from": name}},
			Spec:              spec(class),
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"test": t.Name()}},
		},
	}
	u := must(runtime.DefaultUnstructuredConverter.ToUnstructured(o))(t)
	delete(u, "status")
	must(objects.Resource(resource).Create(t.Context(), &unstructured.Unstructured{Object: u}, metav1.CreateOptions{}))(t)
	t.Cleanup(func() {
		err := objects.Resource(resource).Delete(t.Context(), name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) && t.Context().Err() == nil {
			t.Error(err)
		}
	})
}

// change patches the spec of an original.
func change(t *testing.T, name string, spec map[string]any) {
	t.Helper()
	patch := must(json.Marshal(map[string]any{"spec": spec}))(t)
	must(objects.Resource(resource).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}))(t)
}

func changeClass(t *testing.T, name, class string) {
	t.Helper()
	change(t, name, map[string]any{"spec": spec(class)})
}

func original(t *testing.T, name string) *allotv1alpha1.ClusterResourceClaimTemplate {
	t.Helper()
	u := must(objects.Resource(resource).Get(t.Context(), name, metav1.GetOptions{}))(t)
	o := &allotv1alpha1.ClusterResourceClaimTemplate{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o); err != nil {
		t.Fatal(err)
	}
	return o
}

// awaitStatus waits until the status of the current generation has these values: wanted, in sync,
// conflicting, and the reason of InSync.
func awaitStatus(t *testing.T, name, want string) {
	t.Helper()
	eventually(t, "status of "+name+": "+want, func() bool {
		o := original(t, name)
		c := meta.FindStatusCondition(o.Status.Conditions, allotv1alpha1.ConditionInSync)
		return c != nil && o.Status.ObservedGeneration == o.Generation &&
			fmt.Sprintf("%d/%d/%d %s", o.Status.Wanted, o.Status.InStep, o.Status.Conflicting, c.Reason) == want
	})
}

// classOf returns the class that the copy in a namespace requests; "" if there is no copy.
func classOf(t *testing.T, namespace, name string) string {
	t.Helper()
	c, err := typed.ResourceV1().ResourceClaimTemplates(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	return must(c, err)(t).Spec.Spec.Devices.Requests[0].Exactly.DeviceClassName
}

// newPod creates a pod with a claim from a template.
func newPod(t *testing.T, namespace, name, template string) {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "pause"}}
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}}
	must(typed.CoreV1().Pods(namespace).Create(t.Context(), p, metav1.CreateOptions{}))(t)
}

// claimOf waits for the claim of a pod, and returns it. The status of a pod may name it before it exists.
func claimOf(t *testing.T, namespace, pod string) (claim *resourcev1.ResourceClaim) {
	t.Helper()
	eventually(t, "pod "+pod+" has its claim", func() bool {
		p := must(typed.CoreV1().Pods(namespace).Get(t.Context(), pod, metav1.GetOptions{}))(t)
		s := p.Status.ResourceClaimStatuses
		if len(s) != 1 || s[0].ResourceClaimName == nil {
			return false
		}
		var err error
		name := *s[0].ResourceClaimName
		claim, err = typed.ResourceV1().ResourceClaims(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		return err == nil
	})
	return claim
}
