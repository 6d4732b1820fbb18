package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
)

// extendedName is a resource that the class gpu offers.
const extendedName = "example.com/gpu"

// offer has the class gpu offer the resource.
func (s *server) offer() {
	class, _ := s.objects.classes.Get("", "gpu")
	class = class.DeepCopy()
	class.Spec.ExtendedResourceName = ptr.To(extendedName)
	put(s, classes, class)
}

// asks has the pod ask for so many of the resource.
func asks(count int64) func(*core.Pod) {
	return func(pod *core.Pod) {
		pod.Spec.Containers[0].Resources.Requests[extendedName] = *apiresource.NewQuantity(count, apiresource.DecimalSI)
	}
}

// extendedServer has a gang of three of which each member asks for a resource that a class offers,
// on a cluster where it just fits.
func extendedServer(t tb) *server {
	s := newServer(t)
	s.addNode("n1", 3, 3)
	s.offer()
	s.addGang("g", 3)
	s.addMembers("g", 3, asks(1))
	return s
}

// madeClaims are the claims that were made in the place of extended resources, by name without the
// end.
func (s *server) madeClaims() []string {
	var names []string
	for _, claim := range s.objects.claims.List() {
		if claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true" {
			names = append(names, claim.Name[:strings.LastIndex(claim.Name, "-")])
		}
	}
	return names
}

// A pod's claim is made, allocated and named in its status before the bind, in the form that nodes
// of 1.37 understand.
func TestExtendedResources(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 3, 3)
	s.offer()
	s.addPod("p", "", asks(2))
	x := start(t, s)
	x.pass(time.Second)
	pod := s.pod("p")
	if pod.Spec.NodeName != "n1" {
		t.Fatalf("not bound: %s", s.message("p"))
	}
	status := pod.Status.ExtendedResourceClaimStatus
	claim := s.claim(status.ResourceClaimName)
	wrote := fmt.Sprintf("create %s status %s record p bind p", claim.Name, claim.Name)
	if got := strings.Join(x.link.writes[:4], " "); got != wrote {
		t.Errorf("wrote %s, want %s", got, wrote)
	}
	owner := claim.OwnerReferences[0]
	if owner.UID != pod.UID || owner.Kind != "Pod" || !*owner.Controller ||
		!slices.Contains(claim.Finalizers, resourcev1.Finalizer) {
		t.Errorf("owner %v, finalizers %v", owner, claim.Finalizers)
	}
	if !strings.HasPrefix(claim.Name, "p-extended-resources-") {
		t.Errorf("name %s", claim.Name)
	}
	request := claim.Spec.Devices.Requests[0]
	if request.Name != "container-0-request-1" || request.Exactly.DeviceClassName != "gpu" || request.Exactly.Count != 2 {
		t.Errorf("request %v", request)
	}
	want := corev1.ContainerExtendedResourceRequest{
		ContainerName: "c",
		ResourceName:  extendedName,
		RequestName:   request.Name,
	}
	if len(status.RequestMappings) != 1 || status.RequestMappings[0] != want {
		t.Errorf("mappings %v", status.RequestMappings)
	}
}

// A node that offers the resource by a device plugin counts it, and no claim is made.
func TestExtendedResourcesByPlugin(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 1, 0)
	s.offer()
	node, _ := s.objects.nodes.Get("", "n1")
	node = node.DeepCopy()
	node.Status.Allocatable[extendedName] = apiresource.MustParse("1")
	put(s, nodes, node)
	s.plugin = true
	s.addPod("p", "", asks(1))
	x := start(t, s)
	x.pass(time.Second)
	if pod := s.pod("p"); pod.Spec.NodeName != "n1" || len(s.madeClaims()) > 0 {
		t.Errorf("node %q, claims %v, %s", pod.Spec.NodeName, s.madeClaims(), s.message("p"))
	}
}

// What was made for a pod whose bind fails for ever is given back, and gone, when there is no place
// for it any more.
func TestExtendedResourcesAreGivenBack(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 1, 1)
	s.offer()
	s.addPod("p", "", asks(1))
	runUntil(t, s, 3, false) // created, allocated, recorded
	if got := s.allocated(); len(got) != 1 {
		t.Fatalf("allocated %v", got)
	}
	s.addRoom("n1", 0)
	x := start(t, s)
	x.pass(time.Second)
	if got := s.madeClaims(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
	s.addNode("n2", 1, 1)
	x.pass(time.Second)
	if pod := s.pod("p"); pod.Spec.NodeName != "n2" || len(s.madeClaims()) != 1 {
		t.Errorf("node %q, claims %v, %s", pod.Spec.NodeName, s.madeClaims(), s.message("p"))
	}
}

// A parked pod is tried again when a class offers what it asks for, and when a claim is freed.
func TestExtendedResourcesWakePods(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 3, 1)
	s.addPod("first", "", asks(1))
	x := start(t, s)
	x.pass(time.Second)
	if got := s.message("first"); !strings.Contains(got, "Insufficient "+extendedName) {
		t.Errorf("first: %s", got)
	}
	s.offer()
	x.pass(time.Second)
	if s.pod("first").Spec.NodeName != "n1" {
		t.Fatalf("first: %s", s.message("first"))
	}
	s.addPod("second", "", asks(1))
	x.pass(time.Second)
	if got := s.message("second"); !strings.Contains(
		got, "extended resource "+extendedName+" (DeviceClass gpu): 1 device wanted, 1 match, 0 free",
	) {
		t.Errorf("second: %s", got)
	}
	claim := s.claim(s.pod("first").Status.ExtendedResourceClaimStatus.ResourceClaimName).DeepCopy()
	s.deletePod("first")
	claim.Status.Allocation, claim.Status.ReservedFor = nil, nil // as its controller does
	put(s, claimed, claim)
	x.pass(time.Second)
	if s.pod("second").Spec.NodeName != "n1" {
		t.Errorf("second: %s", s.message("second"))
	}
}

// What a process has left that ended is used by the next one, whichever of its writes was the last.
func TestExtendedResourcesAfterACrash(t *testing.T) {
	for writes := 1; writes <= 3; writes++ {
		s := newServer(t)
		s.addNode("n1", 1, 2)
		s.offer()
		s.addPod("p", "", asks(1))
		runUntil(t, s, writes, true)
		before := s.objects.claims.List()
		x := start(t, s)
		x.pass(time.Second)
		after := s.objects.claims.List()
		if s.pod("p").Spec.NodeName != "n1" || len(after) != 1 || after[0].UID != before[0].UID {
			t.Errorf("after %d writes: %q, claims %v, were %v", writes, s.pod("p").Spec.NodeName, after, before)
		}
	}
}

// A node that has come to have the resource itself needs no claim, so that what was made for the
// pod is no use there; and a pod whose status names a claim would wait there for it in vain.
func TestExtendedResourcesOnAnotherKindOfNode(t *testing.T) {
	for _, c := range []struct {
		writes int
		node   string
	}{{2, "n1"}, {3, ""}} {
		s := newServer(t)
		s.plugin = true
		s.addNode("n1", 1, 1)
		s.offer()
		s.addPod("p", "", asks(1))
		runUntil(t, s, c.writes, false)
		node, _ := s.objects.nodes.Get("", "n1")
		node = node.DeepCopy()
		node.Status.Allocatable[extendedName] = apiresource.MustParse("1")
		put(s, nodes, node)
		x := start(t, s)
		x.pass(time.Second)
		if got := s.pod("p").Spec.NodeName; got != c.node || len(s.madeClaims()) > 0 {
			t.Errorf("after %d writes: on %q, want %q, claims %v, %s", c.writes, got, c.node, s.madeClaims(), s.message("p"))
		}
		s.addNode("n2", 1, 1)
		x.pass(time.Second)
		if got := s.pod("p").Spec.NodeName; got == "" {
			t.Errorf("after %d writes: not bound, %s", c.writes, s.message("p"))
		}
	}
}

// What was made for a pod is given back when no class offers the resource any more, and the pod
// gets a node that has it.
func TestExtendedResourcesNoLongerOffered(t *testing.T) {
	s := newServer(t)
	s.plugin = true
	s.addNode("n1", 1, 1)
	s.offer()
	s.addPod("p", "", asks(1))
	runUntil(t, s, 2, false) // created, allocated
	class, _ := s.objects.classes.Get("", "gpu")
	class = class.DeepCopy()
	class.Spec.ExtendedResourceName = nil
	put(s, classes, class)
	node, _ := s.objects.nodes.Get("", "n1")
	node = node.DeepCopy()
	node.Status.Allocatable[extendedName] = apiresource.MustParse("1")
	put(s, nodes, node)
	x := start(t, s)
	x.pass(time.Second)
	if pod := s.pod("p"); pod.Spec.NodeName != "n1" || pod.Status.ExtendedResourceClaimStatus != nil ||
		len(s.madeClaims()) > 0 {
		t.Errorf("on %q, claims %v, %s", pod.Spec.NodeName, s.madeClaims(), s.message("p"))
	}
}
