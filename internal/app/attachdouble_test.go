package app

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/etcd"
)

// doubledClaim is allocated the only device, and is reserved for doubledPod. The pod has a
// scheduling gate, so that no scheduler changes either.
const (
	doubledClaim = `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim",
"metadata":{"name":"%[1]s","namespace":"default","uid":"claim-%[1]s","finalizers":["resource.kubernetes.io/delete-protection"],"creationTimestamp":"2026-01-01T00:00:00Z"},
"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu.example.com","allocationMode":"ExactCount","count":1}}]}},
"status":{"allocation":{"allocationTimestamp":"2026-01-01T00:00:0%[2]dZ","devices":{"results":[{"request":"r","driver":"other.example.com","pool":"p","device":"d"}]}},
"reservedFor":[{"resource":"pods","name":"%[1]s","uid":"pod-%[1]s"}]}}`
	doubledPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%[1]s","namespace":"default","uid":"pod-%[1]s",
"creationTimestamp":"2026-01-01T00:00:00Z"},
"spec":{"schedulerName":"%[2]s","schedulingGates":[{"name":"test"}],"containers":[{"name":"c","image":"pause"}],
"resourceClaims":[{"name":"r","resourceClaimName":"%[1]s"}]},"status":{"phase":"Pending"}}`
)

// storeDouble writes two claims with one device into a data directory, as two schedulers can on a
// cluster whose API server does not prevent it. The claim of the cluster's scheduler was allocated
// first.
func storeDouble(t *testing.T, dir string) {
	t.Helper()
	store, err := etcd.Start(t.Context(), etcd.Options{Dir: filepath.Join(dir, "etcd"), UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for key, object := range map[string]string{
		"resourceclaims/default/theirs": fmt.Sprintf(doubledClaim, "theirs", 1),
		"pods/default/theirs":           fmt.Sprintf(doubledPod, "theirs", "default-scheduler"),
		"resourceclaims/default/ours":   fmt.Sprintf(doubledClaim, "ours", 2),
		"pods/default/ours":             fmt.Sprintf(doubledPod, "ours", "allot"),
	} {
		if _, err := store.Client().Put(t.Context(), "/registry/"+key, object); err != nil {
			t.Fatal(err)
		}
	}
}

// TestF64DoubleAllocationIsDeallocated checks that the claim that was allocated second is deallocated, because
// its pod is this scheduler's, and that an event reports it.
func TestF64DoubleAllocationIsDeallocated(t *testing.T) {
	dir := t.TempDir()
	storeDouble(t, dir)
	a := startedOn(t, dir)
	claims := a.clients.ResourceV1().ResourceClaims("default")
	eventually(t, "the second claim is put back", func() bool {
		claim, err := claims.Get(t.Context(), "ours", metav1.GetOptions{})
		return err == nil && claim.Status.Allocation == nil
	})
	first, err := claims.Get(t.Context(), "theirs", metav1.GetOptions{})
	if err != nil || first.Status.Allocation == nil || len(first.Status.ReservedFor) != 1 {
		t.Errorf("the first claim: %+v, %v", first, err)
	}
	eventually(t, "an event tells why", func() bool {
		events, err := a.clients.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		return err == nil && slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Reason == "DeviceAllocatedTwice" && e.InvolvedObject.Name == "ours" &&
				strings.Contains(e.Message, "default/theirs, too, which had it before; it is put back")
		})
	})
}
