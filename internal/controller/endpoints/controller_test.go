package endpoints

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	endpointsliceutil "k8s.io/endpointslice/util"
	"k8s.io/klog/v2"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/serviceslices"
	"github.com/allot-dev/allot/internal/testkit/memcache"
)

// world is a server of Endpoints, a slicer that only records its pods, and a queue.
type world struct {
	*Controller
	services namespaced[*corev1.Service]
	pods     namespaced[*core.Pod]
	stored   map[string]*legacy
	lines    []string
}

// namespaced is a cache of one namespace.
type namespaced[T metav1.Object] struct{ *memcache.Cache[T] }

func (n namespaced[T]) InNamespace(string) []T { return n.List() }

func newWorld() *world {
	w := &world{
		services: namespaced[*corev1.Service]{memcache.New[*corev1.Service]()},
		pods:     namespaced[*core.Pod]{memcache.New[*core.Pod]()},
		stored:   map[string]*legacy{},
	}
	w.Controller = &Controller{
		services: w.services, pods: w.pods, slicer: w, server: w, queue: w,
		own: serviceslices.NewOwn(noSlices{}, controllerName), triggers: endpointsliceutil.NewTriggerTimeTracker(),
	}
	w.services.OnChange(w.onService)
	w.pods.OnChange(w.onPod)
	return w
}

func (w *world) say(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

type noSlices struct{}

func (noSlices) ByIndex(string, string) []*discoveryv1.EndpointSlice { return nil }

func (w *world) Reconcile(
	_ klog.Logger, service *corev1.Service, pods []*corev1.Pod, _ []*discoveryv1.EndpointSlice, _ time.Time,
) error {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	w.say("slices of %s: %v", service.Name, names)
	return nil
}

func (w *world) Endpoints(_ context.Context, _, name string) (*legacy, error) {
	if e, ok := w.stored[name]; ok {
		return e, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("endpoints"), name)
}

func (w *world) CreateEndpoints(_ context.Context, e *legacy) error {
	w.stored[e.Name] = e
	w.say("create %s: %s", e.Name, text(e.Subsets))
	return nil
}

func (w *world) UpdateEndpoints(_ context.Context, e *legacy) error {
	w.stored[e.Name] = e
	w.say("update %s: %s", e.Name, text(e.Subsets))
	return nil
}

func (w *world) DeleteEndpoints(_ context.Context, _, name string) error {
	if _, ok := w.stored[name]; !ok {
		return apierrors.NewNotFound(corev1.Resource("endpoints"), name)
	}
	delete(w.stored, name)
	w.say("delete %s", name)
	return nil
}

func (w *world) Add(key types.NamespacedName) { w.say("queue %s", key.Name) }

func (w *world) AddAfter(key types.NamespacedName, d time.Duration) {
	w.say("queue %s in %v", key.Name, d)
}

// text formats subsets as "addresses (not ready) @ ports".
func text(subsets []subset) string {
	var out []string
	for _, s := range subsets {
		list := func(of []address) string {
			var all []string
			for _, a := range of {
				all = append(all, a.IP)
			}
			return strings.Join(all, ",")
		}
		out = append(out, fmt.Sprintf("%s (%s) @ %s", list(s.Addresses), list(s.NotReadyAddresses),
			strings.Join(portKeys(s.Ports), ",")))
	}
	return strings.Join(out, "; ")
}

func webService(change ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	s.Spec.Selector = map[string]string{"app": "web"}
	s.Spec.ClusterIP, s.Spec.IPFamilies = "10.96.0.5", []corev1.IPFamily{corev1.IPv4Protocol}
	s.Spec.Ports = []corev1.ServicePort{
		{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("web")},
		{Name: "any", Port: 81, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8081)},
	}
	for _, f := range change {
		f(s)
	}
	return s
}

// pod returns a ready pod whose container has the port web.
func pod(name, ip string, change ...func(*core.Pod)) *core.Pod {
	p := &core.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	p.Labels = map[string]string{"app": "web"}
	p.Spec.NodeName = "node-0"
	p.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080,
		Protocol: corev1.ProtocolTCP}}}}
	p.Status.Phase = corev1.PodRunning
	p.Status.PodIP, p.Status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	for _, f := range change {
		f(p)
	}
	return p
}

func unready(p *core.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }

func TestSubsets(t *testing.T) {
	unnamed := func(p *core.Pod) { p.Spec.Containers[0].Ports = nil }
	for name, tc := range map[string]struct {
		service *corev1.Service
		pods    []*core.Pod
		want    string
	}{
		"ready and not": {
			webService(), []*core.Pod{pod("b", "10.0.0.2"), pod("a", "10.0.0.1"), pod("c", "10.0.0.3", unready)},
			"10.0.0.1,10.0.0.2 (10.0.0.3) @ any/TCP/8081,http/TCP/8080",
		},
		"published before it is ready": {
			webService(func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true }),
			[]*core.Pod{pod("c", "10.0.0.3", unready)},
			"10.0.0.3 () @ any/TCP/8081,http/TCP/8080",
		},
		"other ports": {
			webService(), []*core.Pod{pod("a", "10.0.0.1"), pod("b", "10.0.0.2", unnamed)},
			"10.0.0.1 () @ any/TCP/8081,http/TCP/8080; 10.0.0.2 () @ any/TCP/8081",
		},
		"no address of the family, finished": {
			webService(), []*core.Pod{pod("a", "2001:db8::1"),
				pod("b", "10.0.0.2", func(p *core.Pod) { p.Status.Phase = corev1.PodSucceeded })},
			"",
		},
		"headless without ports": {
			webService(func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.Ports = corev1.ClusterIPNone, nil }),
			[]*core.Pod{pod("a", "10.0.0.1")},
			"10.0.0.1 () @ ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var pods []*corev1.Pod
			for _, p := range tc.pods {
				pods = append(pods, p.Upstream())
			}
			if diff := cmp.Diff(tc.want, text(subsetsOf(tc.service, pods))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTruncatedSubsetsKeepReadyAddresses(t *testing.T) {
	addresses := func(n int) []address { return make([]address, n) }
	got, cut := truncate([]subset{
		{Addresses: addresses(600), NotReadyAddresses: addresses(600)}, {Addresses: addresses(300)},
		{NotReadyAddresses: addresses(5)},
	})
	if !cut || len(got) != 2 || len(got[0].Addresses) != 600 || len(got[0].NotReadyAddresses) != 100 ||
		len(got[1].Addresses) != 300 {
		t.Errorf("cut %t, %d subsets", cut, len(got))
	}
	if got, cut = truncate([]subset{{Addresses: addresses(capacity)}}); cut || len(got[0].Addresses) != capacity {
		t.Errorf("cut %t at the capacity", cut)
	}
}

// expect compares the recorded lines.
func (w *world) expect(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, w.lines); diff != "" {
		t.Error(diff)
	}
	w.lines = nil
}

func (w *world) reconcile(t *testing.T) {
	t.Helper()
	if err := w.Controller.Reconcile(t.Context(), types.NamespacedName{Namespace: "default", Name: "web"}); err != nil {
		t.Error(err)
	}
}

func TestEndpointsFollowThePods(t *testing.T) {
	w := newWorld()
	w.services.Put(webService())
	w.pods.Put(pod("a", "10.0.0.1", unready))
	w.expect(t, "queue web", "queue web in 20ms")
	w.reconcile(t)
	w.expect(t, "slices of web: [a]", "create web:  (10.0.0.1) @ any/TCP/8081,http/TCP/8080")
	w.reconcile(t)
	w.expect(t, "slices of web: [a]")
	w.pods.Put(pod("a", "10.0.0.1", unready, func(p *core.Pod) { p.Annotations = map[string]string{"a": "b"} }))
	w.pods.Put(pod("other", "10.0.0.2", func(p *core.Pod) { p.Labels = nil }))
	w.expect(t)
	w.pods.Put(pod("a", "10.0.0.1"))
	w.reconcile(t)
	w.expect(t, "queue web in 20ms", "slices of web: [a]", "update web: 10.0.0.1 () @ any/TCP/8081,http/TCP/8080")
	w.pods.Put(pod("a", "10.0.0.1", func(p *core.Pod) { p.Labels = nil }))
	w.reconcile(t)
	w.expect(t, "queue web in 20ms", "slices of web: []", "update web: ")
	w.services.Delete("default", "web")
	w.reconcile(t)
	w.reconcile(t)
	w.expect(t, "queue web", "delete web")
}

func TestServicesWithoutSelectorAreIgnored(t *testing.T) {
	w := newWorld()
	w.services.Put(webService(func(s *corev1.Service) { s.Spec.Selector = nil }))
	w.pods.Put(pod("a", "10.0.0.1"))
	w.reconcile(t)
	w.services.Put(webService(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }))
	w.reconcile(t)
	w.expect(t, "queue web", "queue web")
}

func TestLabelsOfEndpoints(t *testing.T) {
	s := webService(func(s *corev1.Service) {
		s.Labels, s.Spec.ClusterIP = map[string]string{"a": "b"}, corev1.ClusterIPNone
	})
	want := map[string]string{"a": "b", managedByLabel: managedBy, corev1.IsHeadlessService: ""}
	if diff := cmp.Diff(want, labelsOf(s)); diff != "" {
		t.Error(diff)
	}
}
