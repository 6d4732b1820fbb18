package model

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	core "github.com/allot-dev/allot/api/core/v1"
)

const thing = corev1.ResourceName("example.com/thing")

// anyContainers generates containers, some of which request the resource.
func anyContainers(t *rapid.T, kind string, init bool) []corev1.Container {
	var list []corev1.Container
	for i := range rapid.IntRange(0, 3).Draw(t, kind) {
		c := corev1.Container{Name: fmt.Sprint(kind, i)}
		if n := rapid.Int64Range(0, 4).Draw(t, "count"); n > 0 {
			c.Resources.Requests = corev1.ResourceList{
				thing:              *resource.NewQuantity(n, resource.DecimalSI),
				corev1.ResourceCPU: resource.MustParse("1"),
			}
		}
		if always := corev1.ContainerRestartPolicyAlways; init && rapid.Bool().Draw(t, "sidecar") {
			c.RestartPolicy = &always
		}
		list = append(list, c)
	}
	return list
}

// The requests have as many devices as a node would count for the pod, and each container is mapped
// to as many devices as it requests, none of which another container uses at the same time.
func TestDevicesForExtendedResources(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pod := &core.Pod{}
		pod.Spec.InitContainers = anyContainers(t, "init", true)
		pod.Spec.Containers = anyContainers(t, "main", false)
		converted, err := PodFrom(pod, nil)
		if err != nil {
			t.Fatal(err)
		}
		shape := converted.Shape
		requests, mappings := shape.Devices(thing, "gpu")
		sum, counts := int64(0), map[string]int64{}
		for _, r := range requests {
			if _, twice := counts[r.Name]; twice || r.Alternatives[0].Count < 1 {
				t.Fatalf("request %v", r)
			}
			counts[r.Name] = r.Alternatives[0].Count
			sum += r.Alternatives[0].Count
		}
		if sum != shape.Requests[thing] {
			t.Errorf("%d devices, a node would count %d: %v", sum, shape.Requests[thing], requests)
		}
		of := map[string][]string{}
		for _, m := range mappings {
			if slices.Contains(of[m.ContainerName], m.RequestName) {
				t.Errorf("%s is mapped to %s twice", m.ContainerName, m.RequestName)
			}
			of[m.ContainerName] = append(of[m.ContainerName], m.RequestName)
		}
		for i := range shape.ExtendedRequests {
			ask := &shape.ExtendedRequests[i]
			has := int64(0)
			for _, name := range of[ask.Container] {
				has += counts[name]
			}
			if has < ask.Count || !ask.Terminates && has != ask.Count {
				t.Errorf("%s has %d of %d", ask.Container, has, ask.Count)
			}
			for k := range shape.ExtendedRequests {
				if other := &shape.ExtendedRequests[k]; other != ask && together(ask, other) &&
					shares(of[ask.Container], of[other.Container]) {
					t.Errorf("%s and %s share a device", ask.Container, other.Container)
				}
			}
		}
	})
}

// together reports whether two containers run at the same time.
func together(a, b *ExtendedRequest) bool {
	return !a.Terminates && !b.Terminates || a.Terminates && !b.Terminates && b.ContainerIndex < a.ContainerIndex ||
		b.Terminates && !a.Terminates && a.ContainerIndex < b.ContainerIndex
}

func shares(a, b []string) bool {
	return slices.ContainsFunc(a, func(name string) bool { return slices.Contains(b, name) })
}

// Of the classes that offer a resource the newest is used, and of these the first by name. Each
// class also offers the resource that is named after it.
func TestClassThatOffersAResource(t *testing.T) {
	s := NewState()
	put := func(name string, created int64, offers corev1.ResourceName) {
		s.Classes.Put(&Class{Name: name, Created: metav1.Unix(created, 0), Extended: offers})
	}
	put("b", 2, thing)
	put("a", 2, thing)
	put("old", 1, thing)
	put("other", 3, "example.com/other")
	for resource, want := range map[corev1.ResourceName]string{
		thing: "a", "example.com/other": "other", "example.com/none": "", "": "",
		"deviceclass.resource.kubernetes.io/old": "old", "deviceclass.resource.kubernetes.io/none": "",
	} {
		got := ""
		if class, ok := s.Classes.Offers(resource); ok {
			got = class.Name
		}
		if got != want {
			t.Errorf("%s is offered by %q, want %q", resource, got, want)
		}
	}
	s.Classes.Delete("a")
	if class, _ := s.Classes.Offers(thing); class.Name != "b" {
		t.Errorf("offered by %s", class.Name)
	}
}

// A claim that a plan creates exists until the API contradicts it. It remains when the claim that
// it replaces is deleted, but not when the pod that was bound with it terminates.
func TestCreatedClaims(t *testing.T) {
	key := Key{Namespace: "ns", Name: "p-extended"}
	made := &Claim{
		Key:        key,
		Controller: "p-uid",
		Requests:   []Request{{Name: "r", Alternatives: []Alternative{{Class: "gpu", Count: 1}}}},
	}
	other := &Claim{
		Key:        key,
		UID:        "old",
		Controller: "p-uid",
		Requests:   []Request{{Name: "r", Alternatives: []Alternative{{Class: "gpu", Count: 2}}}},
	}
	device := &Allocation{
		Devices: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: "d", Pool: "p", Device: "x"}},
	}
	assume := func(s *State) {
		s.Pods.Put(&Pod{Key: Key{Namespace: "ns", Name: "p"}, UID: "p-uid", Extended: key.Name, Shape: &Shape{}})
		if !s.Claims.Assume(
			key, Assumption{NewClaim: made, Allocation: device, Consumers: []Consumer{PodConsumer("p", "p-uid")}},
		) {
			t.Fatal("refused")
		}
	}
	shown := func(uid types.UID, allocation *Allocation) *Claim {
		claim := *made
		claim.UID, claim.Allocation = uid, allocation
		return &claim
	}
	bound := &Pod{
		Key:      Key{Namespace: "ns", Name: "p"},
		UID:      "p-uid",
		Extended: key.Name,
		Node:     "n",
		Mapped:   true,
		Shape:    &Shape{},
	}
	for _, c := range []struct {
		name string
		do   func(*State)
		held bool
	}{
		{"nothing happens", func(*State) {}, true},
		{"it is forgotten", func(s *State) { s.Claims.Forget(key) }, false},
		{"it is shown before its status", func(s *State) { s.Claims.Put(shown("new", nil)) }, true},
		{"it is shown with its devices, and goes", func(s *State) {
			s.Claims.Put(shown("new",
				device))
			s.Claims.Delete(key)
		}, false},
		{"what it replaces is shown, and goes", func(s *State) { s.Claims.Put(other); s.Claims.Delete(key) }, true},
		{"what it replaces is shown, and is forgotten", func(s *State) { s.Claims.Put(other); s.Claims.Forget(key) }, false},
		{"somebody else's is shown", func(s *State) { s.Claims.Put(&Claim{Key: key, UID: "x", Controller: "q-uid"}) }, false},
		{"the pod is bound, and goes", func(s *State) { s.Pods.Put(bound); s.Pods.Delete(bound.Key) }, false},
		{"the pod goes before", func(s *State) { s.Pods.Delete(bound.Key) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewState()
			assume(s)
			c.do(s)
			claim, ok := s.Claims.Get(key)
			if held := ok && claim.Allocation != nil; held != c.held {
				t.Errorf("held %v, want %v", held, c.held)
			}
			if err := s.Audit(); err != nil {
				t.Error(err)
			}
		})
	}
}
