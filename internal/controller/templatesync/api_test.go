package templatesync

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
)

// served are the resources of a server, by group version.
type served struct {
	discovery.DiscoveryInterface
	resources map[string]string
}

func (s served) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	name, ok := s.resources[groupVersion]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, groupVersion)
	}
	return &metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: name}}}, nil
}

func TestNewestVersionOfTemplatesIsUsed(t *testing.T) {
	const own = "allot.dev/v1alpha1"
	for _, c := range []struct{ has, want string }{
		{"", "no clusterresourceclaimtemplates.allot.dev"},
		{own, "no resourceclaimtemplates.resource.k8s.io"},
		{own + " resource.k8s.io/v1alpha3", "no resourceclaimtemplates.resource.k8s.io"},
		{own + " resource.k8s.io/v1beta1", "v1beta1"},
		{own + " resource.k8s.io/v1beta1 resource.k8s.io/v1beta2", "v1beta2"},
		{own + " resource.k8s.io/v1beta1 resource.k8s.io/v1beta2 resource.k8s.io/v1", "v1"},
	} {
		resources := map[string]string{}
		for version := range strings.FieldsSeq(c.has) {
			resources[version] = "resourceclaimtemplates"
		}
		if has(resources, own) {
			resources[own] = "clusterresourceclaimtemplates"
		}
		a := &api{discovery: served{resources: resources}}
		err := a.discover()
		got := a.templates.Version
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != c.want || err != nil && !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.has, got, c.want)
		}
	}
}

// TestOldVersionsGetTheirForm checks the form of a request in old versions: v1beta1 has no
// "exactly", and v1beta2 has the form of v1.
func TestOldVersionsGetTheirForm(t *testing.T) {
	a, err := newAPI(&rest.Config{Host: "https://nowhere.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	o, err := NewOriginal(&allotv1alpha1.ClusterResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{
			Name: "o",
			UID:  "u",
		}, Spec: allotv1alpha1.ClusterResourceClaimTemplateSpec{Spec: spec("gpu")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for version, path := range map[string][]string{"v1": {"exactly", "deviceClassName"},
		"v1beta2": {"exactly", "deviceClassName"}, "v1beta1": {"deviceClassName"}} {
		a.templates = schema.GroupVersionResource{
			Group:    resourcev1.GroupName,
			Version:  version,
			Resource: "resourceclaimtemplates",
		}
		u, err := a.encode(o.copyFor("ns"))
		if err != nil {
			t.Fatal(err)
		}
		requests, _, _ := unstructured.NestedSlice(u.Object, "spec", "spec", "devices", "requests")
		class, _, _ := unstructured.NestedString(requests[0].(map[string]any), path...)
		if class != "gpu" || u.GetAPIVersion() != "resource.k8s.io/"+version || u.GetKind() != templateKind {
			t.Errorf("%s: %v", version, u.Object)
		}
		if diff := cmp.Diff(map[string]string{Label: "o"}, u.GetLabels()); diff != "" ||
			u.GetAnnotations()[UIDAnnotation] != "u" {
			t.Errorf("%s: labels %s, annotations %v", version, diff, u.GetAnnotations())
		}
	}
}
