package servertest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
)

// ageMeter notes how long each claim took.
type ageMeter struct {
	mu    sync.Mutex
	times []time.Duration
}

func (m *ageMeter) Generated(_ string, _ bool, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.times = append(m.times, took)
}

func (m *ageMeter) Refused(string, bool) {}

// within says how many claims took no longer than limit.
func (m *ageMeter) within(limit time.Duration) (fast, all int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, took := range m.times {
		if took <= limit {
			fast++
		}
	}
	return fast, len(m.times)
}

// TestR44ClusterTemplateInManyNamespaces: 1,000 pods in 100 namespaces name one cluster-wide
// template. Each gets one claim of its own. How long that took is logged, beside what a client
// takes that only creates claims; it is no condition, as machines that run tests are slow at times.
func TestR44ClusterTemplateInManyNamespaces(t *testing.T) {
	const namespaces, podsEach = 100, 10
	template := &resourcev1alpha3.ClusterResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{GenerateName: "everywhere-"}}
	template.Spec.Labels = map[string]string{"from": "template"}
	template.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{
		{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "class"}},
	}
	template = must(set.ClusterResourceClaimTemplates().Create(t.Context(), template, metav1.CreateOptions{}))(t)
	_, before := meter.within(0)
	fastBefore, _ := meter.within(time.Second)
	names := make([]string, namespaces)
	for i := range names {
		names[i] = namespace(t)
	}
	alone := claimsAlone(t, names, podsEach)
	seen := &watched{admitted: map[types.UID]time.Time{}, claimed: map[types.UID]time.Time{}}
	caches.ResourceClaims().OnChange(seen.claim)

	began := time.Now()
	createPods(t, names, podsEach, template.Name, seen)
	created := time.Since(began)
	eventually(t, "each pod has its claim's name", func() bool {
		for _, ns := range names {
			for _, pod := range caches.Pods().InNamespace(ns) {
				if len(pod.Status.ResourceClaimStatuses) != 1 {
					return false
				}
			}
		}
		return true
	})
	recorded := time.Since(began)
	for _, ns := range names {
		checkClaims(t, ns, podsEach)
	}
	fast, all := meter.within(time.Second)
	if all-before != namespaces*podsEach {
		t.Errorf("%d claims were counted, want %d", all-before, namespaces*podsEach)
	}
	t.Logf("%d of %d claims within a second of their pod", fast-fastBefore, all-before)
	waits := seen.waits()
	at := func(percent int) time.Duration { return waits[(len(waits)-1)*percent/100].Round(time.Millisecond) }
	t.Logf("pods created in %s, claims seen after %s (50 %%), %s (99 %%), %s (all); names recorded by %s", created,
		at(50), at(99), at(100), recorded)
	t.Logf("the claims alone take %s: 99 %% are seen within %.2f times that, all names recorded within %.2f times",
		alone, at(99).Seconds()/alone.Seconds(), recorded.Seconds()/alone.Seconds())
}

// createPods makes pods that name a cluster-wide template.
func createPods(t *testing.T, namespaces []string, each int, template string, seen *watched) {
	t.Helper()
	var creators errgroup.Group
	creators.SetLimit(atOnce)
	for _, ns := range namespaces {
		for p := range each {
			creators.Go(func() error {
				pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", p), Namespace: ns}}
				pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "pause"}}
				pod.Spec.ResourceClaims = []core.PodResourceClaim{
					{PodResourceClaim: corev1.PodResourceClaim{Name: "dev"}, ClusterResourceClaimTemplateName: ptr.To(template)},
				}
				pod, err := set.Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{})
				if err == nil {
					seen.admit(pod.UID)
				}
				return err
			})
		}
	}
	if err := creators.Wait(); err != nil {
		t.Fatal(err)
	}
}

// checkClaims holds that each pod of a namespace has a claim of its own, made from the template.
func checkClaims(t *testing.T, ns string, pods int) {
	t.Helper()
	owners := map[string]bool{}
	for _, claim := range must(set.ResourceClaims(ns).List(t.Context(), metav1.ListOptions{}))(t).Items {
		if len(claim.OwnerReferences) == 0 {
			continue // of claimsAlone
		}
		owners[claim.OwnerReferences[0].Name] = true
		if claim.Labels["from"] != "template" {
			t.Errorf("claim %s/%s lacks the template's label", ns, claim.Name)
		}
	}
	if len(owners) != pods {
		t.Errorf("namespace %s: claims of %d pods, want %d", ns, len(owners), pods)
	}
}
