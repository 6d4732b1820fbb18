package apiserver_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	placement "github.com/allot-dev/allot/api/placement/v1alpha2"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/client"
)

// placementWorld is a server of its own with a namespace: claims are created by placements only while
// no other server writes to the etcd.
type placementWorld struct {
	t   *testing.T
	c   *kubernetes.Clientset
	set *client.Set
	ns  string
}

func TestClaimsOfPlacements(t *testing.T) {
	server, stop := ownServer(t, t.TempDir())
	defer stop()
	for name, test := range map[string]func(*testing.T, *placementWorld){
		"one pod":           func(t *testing.T, w *placementWorld) { testPlacementCreatesClaims(t, w, 1) },
		"several pods":      func(t *testing.T, w *placementWorld) { testPlacementCreatesClaims(t, w, 3) },
		"refused":           testPlacementWithARefusedClaim,
		"invalid":           testClaimsOfAPlacementAreValidated,
		"created by others": testPlacementBesideCreationOfItsClaims,
	} {
		t.Run(name, func(t *testing.T) { test(t, newPlacementWorld(t, server.Loopback())) })
	}
}

func newPlacementWorld(t *testing.T, cfg *rest.Config) *placementWorld {
	t.Helper()
	w := &placementWorld{t: t, c: clientset(t, cfg), set: setOf(t, cfg), ns: uniqueName("placements")}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}
	if _, err := w.c.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return w
}

// claimed returns a placement of n new pods, each with a claim that has the device with its number.
func (w *placementWorld) claimed(n int) *placement.Placement {
	w.t.Helper()
	p := waiting(w.t, w.c, w.ns, n)
	for i := range p.Spec.Pods {
		p.Spec.Claims = append(p.Spec.Claims, claimOf(&p.Spec.Pods[i], fmt.Sprint(w.ns, "-gpu-", i)))
	}
	return p
}

// claimOf returns a claim of a pod as the scheduler sends it, with everything that managed fields
// tell apart.
func claimOf(pod *placement.PodPlacement, device string) resource.ResourceClaim {
	claim := resource.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Name: pod.Name + "-claim", GenerateName: pod.Name + "-", Finalizers: []string{resourcev1.Finalizer},
		Labels: map[string]string{"app": "a"}, Annotations: map[string]string{"resource.kubernetes.io/pod-claim-name": "gpu"},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true),
		}},
	}}
	parameters := resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: "d.example.com"}}
	parameters.Opaque.Parameters.Raw = []byte(`{"a":1}`)
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{
		Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu"},
	}}
	claim.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{
		MatchAttribute: ptr.To(resourcev1.FullyQualifiedName("d.example.com/a")),
	}}
	claim.Spec.Devices.Config = []resourcev1.DeviceClaimConfiguration{{DeviceConfiguration: parameters}}
	claim.Status.Allocation = &resource.AllocationResult{}
	claim.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{{
		Request: "gpu", Driver: "d.example.com", Pool: pod.NodeName, Device: device,
	}}
	claim.Status.Allocation.Devices.Config = []resourcev1.DeviceAllocationConfiguration{{
		Source: resourcev1.AllocationConfigSourceClaim, DeviceConfiguration: parameters,
	}}
	claim.Status.Allocation.NodeSelector = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{
			Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{pod.NodeName},
		}},
	}}}
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{
		Resource: "pods", Name: pod.Name, UID: pod.UID,
	}}
	return claim
}

func (w *placementWorld) claims() []resourcev1.ResourceClaim {
	w.t.Helper()
	list, err := w.c.ResourceV1().ResourceClaims(w.ns).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

// R50: claims are created with their devices before pods are bound, each by one write, and with the
// managed fields that two requests would have left. A repetition changes nothing.
func testPlacementCreatesClaims(t *testing.T, w *placementWorld, n int) {
	p := w.claimed(n)
	before, err := w.c.ResourceV1().ResourceClaims(w.ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.set.Place(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if on := bound(t, w.c, w.ns); len(on) != n {
		t.Errorf("bound %v", on)
	}
	watch, err := w.c.ResourceV1().ResourceClaims(w.ns).Watch(t.Context(),
		metav1.ListOptions{ResourceVersion: before.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for range n {
		event := receiveInTime(t, watch.ResultChan())
		claim := event.Object.(*resourcev1.ResourceClaim)
		if event.Type != "ADDED" || claim.Status.Allocation == nil || len(claim.Status.ReservedFor) != 1 ||
			claim.UID == "" || claim.CreationTimestamp.IsZero() {
			t.Errorf("%s %+v", event.Type, claim)
		}
	}
	claims := w.claims()
	if _, err := w.set.Place(t.Context(), p); err != nil {
		t.Errorf("again: %v", err)
	}
	if again := w.claims(); len(again) != n || again[0].ResourceVersion != claims[0].ResourceVersion {
		t.Fatalf("%d claims, the first with version %s, before %s", len(again), again[0].ResourceVersion,
			claims[0].ResourceVersion)
	}
	w.sameManagedFields(&p.Spec.Claims[0], claims[0].ManagedFields)
}

// sameManagedFields creates the claim by two requests, and compares.
func (w *placementWorld) sameManagedFields(claim *resource.ResourceClaim, placed []metav1.ManagedFieldsEntry) {
	w.t.Helper()
	claim = claim.DeepCopy()
	claim.Name, claim.Namespace = claim.Name+"-twice", w.ns
	claim.Status.Allocation.Devices.Results[0].Device += "-another"
	created, err := w.set.ResourceClaims(w.ns).Create(w.t.Context(), claim, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	created.Status = claim.Status
	updated, err := w.set.ResourceClaims(w.ns).UpdateStatus(w.t.Context(), created, metav1.UpdateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	text := func(entries []metav1.ManagedFieldsEntry) (out []string) {
		for _, e := range entries {
			if e.Time.IsZero() {
				w.t.Errorf("an entry of %s without a time", e.Manager)
			}
			out = append(out, fmt.Sprint(e.Manager, e.Operation, e.APIVersion, e.Subresource, e.FieldsType,
				e.FieldsV1.GetRawString()))
		}
		return out
	}
	if diff := cmp.Diff(text(updated.ManagedFields), text(placed)); diff != "" {
		w.t.Errorf("managed fields of two requests (-) and of a placement (+):\n%s", diff)
	}
}

// R50: if a claim cannot be created, nothing is written, and the answer has each that cannot.
func testPlacementWithARefusedClaim(t *testing.T, w *placementWorld) {
	p := w.claimed(4)
	held := claimOf(&p.Spec.Pods[1], p.Spec.Claims[1].Status.Allocation.Devices.Results[0].Device)
	held.Name = "held"
	w.allocate(&held)
	other := claimOf(&p.Spec.Pods[1], "gpu-other")
	other.Name = p.Spec.Claims[2].Name
	w.allocate(&other)
	p.Spec.Claims[3].Spec.Devices.Requests[0].Exactly.DeviceClassName = "NOT A NAME"
	before := len(w.claims())

	_, err := w.set.Place(t.Context(), p)
	if got, want := causes(t, err), []string{"spec.claims[1]", "spec.claims[3]"}; !slices.Equal(got, want) {
		t.Errorf("causes at %v, want %v: %v", got, want, err)
	}
	p.Spec.Claims[1].Status.Allocation.Devices.Results[0].Device += "-free"
	p.Spec.Claims[3] = claimOf(&p.Spec.Pods[3], w.ns+"-gpu-3")
	if _, err = w.set.Place(t.Context(), p); !apierrors.IsConflict(err) ||
		!strings.Contains(err.Error(), `1 of 4 claims cannot be created: resourceclaims.resource.k8s.io "p-2-claim" already`) {
		t.Errorf("got %v, want a conflict", err)
	}
	p.Spec.Pods, p.Spec.Claims = p.Spec.Pods[2:3], p.Spec.Claims[2:3]
	if _, err = w.set.Place(t.Context(), p); !apierrors.IsConflict(err) {
		t.Errorf("a single pod: %v, want a conflict", err)
	}
	if on := bound(t, w.c, w.ns); len(on) > 0 || len(w.claims()) != before {
		t.Errorf("bound %v, %d claims instead of %d", on, len(w.claims()), before)
	}
}

// allocate creates a claim and writes its status.
func (w *placementWorld) allocate(claim *resource.ResourceClaim) {
	w.t.Helper()
	claim.Namespace = w.ns
	created, err := w.set.ResourceClaims(w.ns).Create(w.t.Context(), claim, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	created.Status = claim.Status
	if _, err := w.set.ResourceClaims(w.ns).UpdateStatus(w.t.Context(), created, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func testClaimsOfAPlacementAreValidated(t *testing.T, w *placementWorld) {
	for field, change := range map[string]func(*placement.Placement){
		"spec.claims[0].status.allocation": func(p *placement.Placement) { p.Spec.Claims[0].Status.Allocation = nil },
		"spec.claims[0].metadata.name":     func(p *placement.Placement) { p.Spec.Claims[0].Name = "" },
		"spec.claims[1].metadata.name":     func(p *placement.Placement) { p.Spec.Claims[1].Name = p.Spec.Claims[0].Name },
		"spec.claims[0].metadata.ownerReferences": func(p *placement.Placement) {
			p.Spec.Claims[0].OwnerReferences[0].Controller = nil
		},
		"spec.claims": func(p *placement.Placement) {
			p.Spec.Claims = make([]resource.ResourceClaim, placement.MaxClaims+1)
		},
	} {
		p := &placement.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns}}
		for i := range 2 {
			pod := placement.PodPlacement{Name: fmt.Sprint("p-", i), UID: "u", NodeName: "n"}
			p.Spec.Pods = append(p.Spec.Pods, pod)
			p.Spec.Claims = append(p.Spec.Claims, claimOf(&pod, fmt.Sprint(i)))
		}
		change(p)
		_, err := w.set.Place(t.Context(), p)
		if got := causes(t, err); !slices.Equal(got, []string{field}) {
			t.Errorf("causes at %v, want %s", got, field)
		}
	}
}

// A claim of a placement and one that is created by itself under the same name exclude each other:
// exactly one of both is written, and with the placement all of it.
func testPlacementBesideCreationOfItsClaims(t *testing.T, w *placementWorld) {
	for round := range 20 {
		w.ns = uniqueName("race")
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}
		if _, err := w.c.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		p := w.claimed(3)
		for i := range p.Spec.Claims {
			p.Spec.Claims[i].Status.Allocation.Devices.Results[0].Device = fmt.Sprint("gpu-", round, "-", i)
		}
		p.Namespace = w.ns
		var created, placed error
		var both sync.WaitGroup
		both.Go(func() {
			claim := p.Spec.Claims[1].DeepCopy()
			claim.Namespace = w.ns
			_, created = w.set.ResourceClaims(w.ns).Create(t.Context(), claim, metav1.CreateOptions{})
		})
		both.Go(func() { _, placed = w.set.Place(t.Context(), p) })
		both.Wait()
		switch on := bound(t, w.c, w.ns); {
		case placed == nil && apierrors.IsAlreadyExists(created) && len(on) == 3 && len(w.claims()) == 3:
		case apierrors.IsConflict(placed) && created == nil && len(on) == 0 && len(w.claims()) == 1:
		default:
			t.Fatalf("placed: %v, created: %v, bound %v, %d claims", placed, created, on, len(w.claims()))
		}
	}
}
