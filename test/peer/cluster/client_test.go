package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/allot-dev/allot/internal/client"
)

// clientLosesNothing: what allot's client reads from Kubernetes and writes back as it is,
// Kubernetes takes for no change at all: the types lose no field, in JSON or protobuf. The objects
// are those of testdata.
func clientLosesNothing(t *testing.T, k *Kubernetes) {
	set, err := client.New(k.Config)
	if err != nil {
		t.Fatal(err)
	}
	const ns = "peer"
	asKubernetesWrites(t, k, ns)
	writeBack(t, set.Pods(ns), "worker")
	writeBack(t, set.Nodes(), "node-a")
	writeBack(t, set.Deployments(ns), "web")
	writeBack(t, set.StatefulSets(ns), "web")
	writeBack(t, set.DaemonSets(ns), "web")
	writeBack(t, set.Jobs(ns), "training")
	writeBack(t, set.PodDisruptionBudgets(ns), "budget")
	writeBack(t, set.PodGroups(ns), "of-v1beta1", "of-v1alpha3")
	writeBack(t, set.ResourceClaims(ns), "all-of-v1", "of-v1beta1", "of-v1beta2")
	writeBack(t, set.DeviceTaintRules(), "slow")
	// These have no status.
	same(t, "training", unchanged(t, set.Workloads(ns), "training"))
	same(t, "one-gpu", unchanged(t, set.ResourceClaimTemplates(ns), "one-gpu"))
	same(t, "one-gpu-b2", unchanged(t, set.ResourceClaimTemplates(ns), "one-gpu-b2"))
	same(t, "gpu.example.com", unchanged(t, set.DeviceClasses(), "gpu.example.com"))
	same(t, "older.example.com", unchanged(t, set.DeviceClasses(), "older.example.com"))
	same(t, "slice-a", unchanged(t, set.ResourceSlices(), "slice-a"))
}

// asKubernetesWrites writes some objects back with Kubernetes' own client: even that changes how
// those are stored that came as YAML. It does so in another second than that of their creation:
// managed fields are in the order of their times, which are renewed at each write, and another
// order counts as a change.
func asKubernetesWrites(t *testing.T, k *Kubernetes, ns string) {
	t.Helper()
	cfg := rest.CopyConfig(k.Config)
	cfg.ContentType = runtime.ContentTypeProtobuf
	clients, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond)
	job, err := clients.BatchV1().Jobs(ns).Get(t.Context(), "training", metav1.GetOptions{})
	if err == nil {
		_, err = clients.BatchV1().Jobs(ns).Update(t.Context(), job, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	slice, err := clients.ResourceV1().ResourceSlices().Get(t.Context(), "slice-a", metav1.GetOptions{})
	if err == nil {
		_, err = clients.ResourceV1().ResourceSlices().Update(t.Context(), slice, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// writeBack reads objects and writes them back, and their status too.
func writeBack[T client.Object, L runtime.Object](t *testing.T, c client.Client[T, L], names ...string) {
	t.Helper()
	for _, name := range names {
		same(t, name, unchanged(t, c, name))
		same(t, name+" (status)", func() (before, after T, err error) {
			if before, err = c.Get(t.Context(), name, metav1.GetOptions{}); err != nil {
				return before, after, err
			}
			after, err = c.UpdateStatus(t.Context(), before, metav1.UpdateOptions{})
			return before, after, err
		})
	}
}

// unchanged answers a function that writes an object back, and answers what the server had before
// and after.
func unchanged[T client.Object, L runtime.Object](
	t *testing.T, c client.Client[T, L], name string,
) func() (before, after T, err error) {
	return func() (before, after T, err error) {
		if before, err = c.Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			return before, after, err
		}
		after, err = c.Update(t.Context(), before, metav1.UpdateOptions{})
		return before, after, err
	}
}

func same[T client.Object](t *testing.T, what string, write func() (before, after T, err error)) {
	t.Helper()
	before, after, err := write()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	} else if before.GetResourceVersion() != after.GetResourceVersion() {
		t.Errorf("%T %s: writing it back changed it (-before +after):\n%s", before, what, cmp.Diff(before, after))
	}
}
