package defaults

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	upstreamv1alpha3 "k8s.io/api/resource/v1alpha3"
	upstreamv1beta1 "k8s.io/api/resource/v1beta1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"

	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	resourcev1beta1 "github.com/allot-dev/allot/api/resource/v1beta1"
	schedulingv1alpha2 "github.com/allot-dev/allot/api/scheduling/v1alpha2"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

var rewrite = flag.Bool("rewrite", false, "write the results into testdata")

// TestGolden decodes testdata/*.yaml as a client's request, and compares the
// object with what is in testdata/*.golden.
func TestGolden(t *testing.T) {
	scheme := testScheme()
	noon := func() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }
	if err := register(scheme, noon); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	files, _ := filepath.Glob("testdata/*.yaml")
	if len(files) == 0 {
		t.Fatal("no manifests in testdata")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			in, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			obj, _, err := decoder.Decode(in, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			scheme.Default(obj)
			once := obj.DeepCopyObject()
			scheme.Default(obj)
			if diff := cmp.Diff(once, obj); diff != "" {
				t.Errorf("the second run changed the object (-first +second):\n%s", diff)
			}
			compare(t, strings.TrimSuffix(file, ".yaml")+".golden", obj)
		})
	}
}

func compare(t *testing.T, file string, obj any) {
	t.Helper()
	got, err := yaml.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -rewrite accepts it):\n%s", file, diff)
	}
}

func TestRegisterNeedsTheKinds(t *testing.T) {
	err := Register(runtime.NewScheme())
	if !runtime.IsNotRegisteredError(errors.Unwrap(err)) {
		t.Errorf("got %v, want a not-registered error", err)
	}
}

func TestPullPolicy(t *testing.T) {
	for image, want := range map[string]corev1.PullPolicy{
		"":                        corev1.PullIfNotPresent,
		"nginx":                   corev1.PullAlways,
		"nginx:latest":            corev1.PullAlways,
		"nginx:1.29":              corev1.PullIfNotPresent,
		"reg.example:5000/a/b":    corev1.PullAlways,
		"reg.example:5000/a/b:v1": corev1.PullIfNotPresent,
		"nginx@sha256:00ff":       corev1.PullIfNotPresent,
		"nginx:latest@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef": corev1.PullAlways,
		"nginx:1.29@sha256:00ff": corev1.PullIfNotPresent,
	} {
		if got := pullPolicy(image); got != want {
			t.Errorf("%q: got %s, want %s", image, got, want)
		}
	}
}

func testScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	add := func(group, version string, objs ...runtime.Object) {
		scheme.AddKnownTypes(schema.GroupVersion{Group: group, Version: version}, objs...)
	}
	add("", "v1", &core.Pod{}, &core.PodList{}, &corev1.Node{}, &corev1.NodeList{}, &corev1.Namespace{}, &corev1.NamespaceList{},
		&corev1.Secret{}, &corev1.SecretList{})
	add("apps", "v1", &apps.Deployment{}, &apps.DeploymentList{}, &apps.ReplicaSet{}, &apps.ReplicaSetList{},
		&apps.StatefulSet{}, &apps.StatefulSetList{}, &apps.DaemonSet{}, &apps.DaemonSetList{}, &appsv1.ControllerRevision{})
	add("batch", "v1", &batch.Job{}, &batch.JobList{})
	add("", "v1", &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolume{}, &corev1.PersistentVolumeList{},
		&corev1.Service{}, &corev1.ServiceList{})
	add("policy", "v1", &policyv1.PodDisruptionBudget{})
	add("scheduling.k8s.io", "v1", &schedulingv1.PriorityClass{}, &schedulingv1.PriorityClassList{})
	add("scheduling.k8s.io", "v1beta1", &scheduling.PodGroup{}, &scheduling.PodGroupList{})
	add("scheduling.k8s.io", "v1alpha2", &schedulingv1alpha2.PodGroup{}, &schedulingv1alpha2.PodGroupList{})
	add("resource.k8s.io", "v1", &resource.ResourceClaim{}, &resource.ResourceClaimList{}, &resource.ResourceClaimTemplate{},
		&resource.ResourceClaimTemplateList{}, &resourcev1.ResourceSlice{}, &resourcev1.ResourceSliceList{},
		&resourcev1.DeviceTaintRule{}, &resourcev1.DeviceTaintRuleList{})
	add("resource.k8s.io", "v1beta1", &resourcev1beta1.ResourceClaim{}, &resourcev1beta1.ResourceClaimList{}, &resourcev1beta1.ResourceClaimTemplate{},
		&resourcev1beta1.ResourceClaimTemplateList{}, &upstreamv1beta1.ResourceSlice{}, &upstreamv1beta1.ResourceSliceList{})
	add("resource.k8s.io", "v1alpha3", &resourcev1alpha3.ClusterResourceClaimTemplate{}, &resourcev1alpha3.ClusterResourceClaimTemplateList{},
		&upstreamv1alpha3.ResourcePoolStatusRequest{}, &upstreamv1alpha3.ResourcePoolStatusRequestList{})
	add("rbac.authorization.k8s.io", "v1", &rbacv1.RoleBinding{}, &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleBinding{}, &rbacv1.ClusterRoleBindingList{})
	return scheme
}
