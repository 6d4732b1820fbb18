package apiserver_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/allot-dev/allot/internal/apiserver"
)

// service returns a Service with one port.
func service(name string, change ...func(*corev1.ServiceSpec)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}}
	s.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80}}
	s.Spec.Selector = map[string]string{"app": name}
	for _, f := range change {
		f(&s.Spec)
	}
	return s
}

func ofType(typ corev1.ServiceType) func(*corev1.ServiceSpec) {
	return func(s *corev1.ServiceSpec) { s.Type = typ }
}

func withIP(ip string) func(*corev1.ServiceSpec) {
	return func(s *corev1.ServiceSpec) { s.ClusterIP = ip }
}

// serviceTest creates Services in one namespace.
type serviceTest struct {
	t      *testing.T
	client kubernetes.Interface
	ns     string
}

func newServiceTest(t *testing.T) serviceTest {
	return serviceTest{t, clientset(t, remote(t)), namespace(t)}
}

func (st serviceTest) create(s *corev1.Service) *corev1.Service {
	st.t.Helper()
	out, err := st.client.CoreV1().Services(st.ns).Create(st.t.Context(), s, metav1.CreateOptions{})
	if err != nil {
		st.t.Fatal(err)
	}
	return out
}

func (st serviceTest) update(s *corev1.Service) *corev1.Service {
	st.t.Helper()
	out, err := st.client.CoreV1().Services(st.ns).Update(st.t.Context(), s, metav1.UpdateOptions{})
	if err != nil {
		st.t.Fatal(err)
	}
	return out
}

// expectRefused creates a Service, and checks that it is rejected with a message.
func (st serviceTest) expectRefused(s *corev1.Service, message string) {
	st.t.Helper()
	_, err := st.client.CoreV1().Services(st.ns).Create(st.t.Context(), s, metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), message) {
		st.t.Errorf("got %v, want %q", err, message)
	}
}

func (st serviceTest) isReserved(ip string) bool {
	st.t.Helper()
	_, err := st.client.NetworkingV1().IPAddresses().Get(st.t.Context(), ip, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		st.t.Fatal(err)
	}
	return err == nil
}

func TestServicesGetClusterIPs(t *testing.T) {
	c := newServiceTest(t)
	s := c.create(service("a"))
	ip, err := netip.ParseAddr(s.Spec.ClusterIP)
	if err != nil || !apiserver.DefaultServiceRange.Contains(ip) || len(s.Spec.ClusterIPs) != 1 ||
		s.Spec.IPFamilies[0] != corev1.IPv4Protocol || *s.Spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack {
		t.Fatalf("spec %+v: %v", s.Spec, err)
	}
	reserved, err := c.client.NetworkingV1().IPAddresses().Get(t.Context(), s.Spec.ClusterIP, metav1.GetOptions{})
	if err != nil || reserved.Spec.ParentRef.Namespace != c.ns || reserved.Spec.ParentRef.Name != "a" {
		t.Errorf("reservation %+v: %v", reserved, err)
	}
	c.expectRefused(service("b", withIP(s.Spec.ClusterIP)), "provided IP is already allocated")
	c.expectRefused(service("b", withIP("10.0.0.1")), "is not in the valid range. The range of valid IPs is 10.96.0.0/12")
	c.expectRefused(service("b", func(s *corev1.ServiceSpec) { s.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol} }),
		"not configured on this cluster")
	again := service("a")
	again.ResourceVersion = s.ResourceVersion
	if updated := c.update(again); updated.Spec.ClusterIP != s.Spec.ClusterIP {
		t.Errorf("a manifest without the address changed it to %s", updated.Spec.ClusterIP)
	}
	if err := c.client.CoreV1().Services(c.ns).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if c.isReserved(s.Spec.ClusterIP) {
		t.Error("the address of a deleted Service is reserved")
	}
	if b := c.create(service("b", withIP(s.Spec.ClusterIP))); b.Spec.ClusterIPs[0] != s.Spec.ClusterIP {
		t.Errorf("addresses %v", b.Spec.ClusterIPs)
	}
}

// An update that is rejected, or is a dry run, releases and reserves nothing.
func TestRefusedServicesReserveNothing(t *testing.T) {
	c := newServiceTest(t)
	dry, err := c.client.CoreV1().Services(c.ns).Create(t.Context(), service("a"),
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil || dry.Spec.ClusterIP == "" || c.isReserved(dry.Spec.ClusterIP) {
		t.Errorf("dry run: %v, address %q", err, dry.Spec.ClusterIP)
	}
	s := c.create(service("a"))
	c.expectRefused(service("a", withIP("10.111.1.1")), "already exists")
	if c.isReserved("10.111.1.1") {
		t.Error("the address of a refused Service is reserved")
	}
	stale := s.DeepCopy()
	stale.ResourceVersion, stale.Spec.Type, stale.Spec.ExternalName = "1", corev1.ServiceTypeExternalName, "example.com"
	stale.Spec.ClusterIP, stale.Spec.ClusterIPs = "", nil
	_, err = c.client.CoreV1().Services(c.ns).Update(t.Context(), stale, metav1.UpdateOptions{})
	if !apierrors.IsConflict(err) {
		t.Errorf("got %v", err)
	}
	if !c.isReserved(s.Spec.ClusterIP) {
		t.Error("a refused update released the address")
	}
}

func TestTypesOfServices(t *testing.T) {
	c := newServiceTest(t)
	external := c.create(service("e", ofType(corev1.ServiceTypeExternalName),
		func(s *corev1.ServiceSpec) { s.ExternalName = "example.com" }))
	if external.Spec.ClusterIP != "" || external.Spec.IPFamilyPolicy != nil {
		t.Errorf("ExternalName: %+v", external.Spec)
	}
	external.Spec.Type, external.Spec.ExternalName = corev1.ServiceTypeNodePort, ""
	ported := c.update(external)
	ip, port := ported.Spec.ClusterIP, ported.Spec.Ports[0].NodePort
	if ip == "" || port < 30000 || port > 32767 {
		t.Fatalf("NodePort: %+v", ported.Spec)
	}
	c.expectRefused(service("b", ofType(corev1.ServiceTypeNodePort),
		func(s *corev1.ServiceSpec) { s.Ports[0].NodePort = port }), "provided port is already allocated")
	c.expectRefused(service("b", ofType(corev1.ServiceTypeNodePort),
		func(s *corev1.ServiceSpec) { s.Ports[0].NodePort = 80 }), "The range of valid ports is 30000-32767")
	ported.Spec.Ports[0].NodePort = 0 // as a manifest has it
	if again := c.update(ported); again.Spec.Ports[0].NodePort != port {
		t.Errorf("a manifest without the port changed it to %d", again.Spec.Ports[0].NodePort)
	}
	external, err := c.client.CoreV1().Services(c.ns).Get(t.Context(), "e", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	external.Spec.Type, external.Spec.ExternalName = corev1.ServiceTypeExternalName, "example.com"
	external.Spec.ClusterIP, external.Spec.ClusterIPs = "", nil
	external = c.update(external)
	if external.Spec.ClusterIP != "" || external.Spec.Ports[0].NodePort != 0 || c.isReserved(ip) {
		t.Errorf("ExternalName again: %+v", external.Spec)
	}
	taken := c.create(service("b", ofType(corev1.ServiceTypeNodePort), withIP(ip),
		func(s *corev1.ServiceSpec) { s.Ports[0].NodePort = port }))
	if taken.Spec.Ports[0].NodePort != port {
		t.Errorf("ports %+v", taken.Spec.Ports)
	}
}

func TestPortsOfServices(t *testing.T) {
	c := newServiceTest(t)
	local := c.create(service("l", ofType(corev1.ServiceTypeLoadBalancer), func(s *corev1.ServiceSpec) {
		s.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		s.Ports = []corev1.ServicePort{
			{Name: "tcp", Port: 53, Protocol: corev1.ProtocolTCP}, {Name: "udp", Port: 53, Protocol: corev1.ProtocolUDP},
		}
	}))
	ports := local.Spec.Ports
	if ports[0].NodePort == 0 || ports[0].NodePort != ports[1].NodePort || local.Spec.HealthCheckNodePort == 0 ||
		local.Spec.HealthCheckNodePort == ports[0].NodePort {
		t.Errorf("ports %+v, health checks at %d", ports, local.Spec.HealthCheckNodePort)
	}
	none := c.create(service("n", ofType(corev1.ServiceTypeLoadBalancer), func(s *corev1.ServiceSpec) {
		s.AllocateLoadBalancerNodePorts = new(bool)
	}))
	if none.Spec.Ports[0].NodePort != 0 {
		t.Errorf("ports %+v", none.Spec.Ports)
	}
	headless := c.create(service("h", withIP(corev1.ClusterIPNone), func(s *corev1.ServiceSpec) { s.Selector = nil }))
	if len(headless.Spec.IPFamilies) != 2 || *headless.Spec.IPFamilyPolicy != corev1.IPFamilyPolicyRequireDualStack {
		t.Errorf("headless without selector: %+v", headless.Spec)
	}
}

// An update of the status of a Service that does not exist creates none.
func TestStatusCreatesNoService(t *testing.T) {
	c := clientset(t, remote(t)).CoreV1().Services(namespace(t))
	_, err := c.UpdateStatus(t.Context(), service("absent", withIP(corev1.ClusterIPNone)), metav1.UpdateOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("update: %v", err)
	}
	_, err = c.Patch(t.Context(), "absent", types.ApplyPatchType,
		[]byte(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"absent"}}`),
		metav1.PatchOptions{FieldManager: "test"}, "status")
	if !apierrors.IsNotFound(err) {
		t.Errorf("apply: %v", err)
	}
}

func TestServiceOfTheServer(t *testing.T) {
	s, err := clientset(t, remote(t)).CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil || s.Spec.ClusterIP != "10.96.0.1" || s.Spec.Ports[0].Port != 443 ||
		!strings.HasSuffix(shared.URL(), fmt.Sprintf(":%d", s.Spec.Ports[0].TargetPort.IntVal)) {
		t.Errorf("spec %+v: %v", s.Spec, err)
	}
}

// fillRange creates more Services than a range of 16 addresses can serve, concurrently by several
// servers. The first and the last address are not usable, and one is the server's.
func fillRange(t *testing.T, servers ...*apiserver.Server) {
	const tried, fit = 20, 13
	var mu sync.Mutex
	holders, refused := map[string]string{}, 0
	var running sync.WaitGroup
	for i := range tried {
		client := clientset(t, servers[i%len(servers)].Loopback()).CoreV1().Services("default")
		running.Go(func() {
			s, err := client.Create(context.Background(), service(fmt.Sprintf("s%d", i)), metav1.CreateOptions{})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && holders[s.Spec.ClusterIP] != "":
				t.Errorf("%s is given to %s and %s", s.Spec.ClusterIP, holders[s.Spec.ClusterIP], s.Name)
			case err == nil:
				holders[s.Spec.ClusterIP] = s.Name
			case strings.Contains(err.Error(), "range is full"):
				refused++
			default:
				t.Error(err)
			}
		})
	}
	running.Wait()
	if len(holders) != fit || refused != tried-fit {
		t.Errorf("%d Services have addresses, %d are refused", len(holders), refused)
	}
}
