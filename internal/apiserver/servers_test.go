package apiserver_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/allot-dev/allot/internal/apiserver"
)

// secondServer starts another server on the etcd of the shared one.
func secondServer(t *testing.T) *dynamic.DynamicClient {
	t.Helper()
	first := filepath.Dir(kubeconfig)
	server, err := apiserver.Start(t.Context(), apiserver.Config{
		DataDir: t.TempDir(), PKIDir: filepath.Join(first, "pki"),
		Etcd: apiserver.ExternalEtcd{URLs: []string{"unix://" + filepath.Join(first, "etcd", "etcd.sock")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := server.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	config := filepath.Join(t.TempDir(), "kubeconfig")
	if err := server.WriteKubeconfig(config); err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(configFrom(t, config))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Two API servers run on one etcd, and in each round each of them gets a claim for the same device
// (F64, R18). At most one client gets a success response, and in the end only its claim has the
// device.
func TestF64TwoServersAllocateADeviceOnce(t *testing.T) {
	if !shared.Alone() {
		t.Error("the first server is not alone, although nobody has come to its etcd")
	}
	var claims [2]dynamic.ResourceInterface
	for i, client := range []dynamic.Interface{dynamicClient(t), secondServer(t)} {
		ns := namespace(t)
		create(t, ns, claimYAML)
		claims[i] = client.Resource(claimsResource).Namespace(ns)
		if _, err := claims[i].Patch(t.Context(), "c", types.MergePatchType, []byte(claimAllocated),
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if shared.Alone() {
		t.Error("the first server is alone, although a second one has come")
	}
	won, atOnce := [2]int{}, 0
	for round := 0; round < 100 || round < 2000 && (won[0] == 0 || won[1] == 0); round++ {
		errs := bothAtOnce(t, claims, strings.ReplaceAll(claimStatus, `"n1"`, fmt.Sprintf(`"raced-%d"`, round)))
		if errs[0] == nil && errs[1] == nil {
			t.Fatalf("round %d: both have the device", round)
		}
		if errs[0] != nil && errs[1] != nil {
			atOnce++
		}
		for i := range claims {
			if has := isAllocated(t, claims[i], "c"); has != (errs[i] == nil) {
				t.Fatalf("round %d, server %d: the answer was %v, and that the claim is allocated is %v", round, i, errs[i], has)
			} else if has {
				won[i]++
			}
		}
		for i, err := range bothAtOnce(t, claims, `{"status":{"allocation":null,"reservedFor":null}}`) {
			if err != nil {
				t.Fatalf("round %d, server %d: %v", round, i, err)
			}
		}
	}
	t.Logf("won by %v, by nobody %d times", won, atOnce)
	if won[0] == 0 || won[1] == 0 {
		t.Errorf("no race: won by %v", won)
	}
}

// A server stores a claim with a device that another claim has just been allocated, and is killed
// before it sees that (F64, R18). A remaining server deallocates the claim, and changes nothing
// else of it.
func TestF64KilledServerLeavesNoDoubleAllocation(t *testing.T) {
	dir := t.TempDir()
	server := startServer(t, apiserver.Config{DataDir: dir, UnsafeNoFsync: true})
	client, err := dynamic.NewForConfig(server.Loopback())
	if err != nil {
		t.Fatal(err)
	}
	claims := client.Resource(claimsResource).Namespace("default")
	for i, name := range []string{"first", "second"} {
		claim := parse(t, strings.ReplaceAll(claimYAML, "{name: c}",
			"{name: "+name+", finalizers: [resource.kubernetes.io/delete-protection]}"))[0]
		if _, err := claims.Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		status := strings.ReplaceAll(claimStatus, `"n1"`, fmt.Sprintf(`"pool-%d"`, i))
		if _, err := claims.Patch(t.Context(), name, types.MergePatchType, []byte(status), metav1.PatchOptions{},
			"status"); err != nil {
			t.Fatal(err)
		}
	}
	killed, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + filepath.Join(dir, "etcd", "etcd.sock")}})
	if err != nil {
		t.Fatal(err)
	}
	defer killed.Close()
	const key = "/registry/resourceclaims/default/second"
	stored, err := killed.Get(t.Context(), key)
	if err != nil || len(stored.Kvs) != 1 {
		t.Fatalf("%d of %s: %v", len(stored.Kvs), key, err)
	}
	double := strings.ReplaceAll(string(stored.Kvs[0].Value), "pool-1", "pool-0")
	if _, err := killed.Put(t.Context(), key, double); err != nil {
		t.Fatal(err)
	}
	eventually(t, "taken from the second claim", func() bool { return !isAllocated(t, claims, "second") })
	if !isAllocated(t, claims, "first") {
		t.Error("the first claim has lost the device")
	}
	second, err := claims.Get(t.Context(), "second", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, found, _ := unstructured.NestedMap(second.Object, "spec", "reservedFor"); !found ||
		len(second.GetFinalizers()) != 1 {
		t.Errorf("something else was changed: %v", second)
	}
}

// bothAtOnce patches the status of both claims concurrently, and returns the rejections.
func bothAtOnce(t *testing.T, claims [2]dynamic.ResourceInterface, status string) (errs [2]error) {
	t.Helper()
	done := make(chan struct{})
	for i := range claims {
		go func() {
			_, errs[i] = claims[i].Patch(t.Context(), "c", types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status")
			done <- struct{}{}
		}()
	}
	<-done
	<-done
	for i, err := range errs {
		if err != nil && !apierrors.IsInvalid(err) {
			t.Fatalf("server %d: %v", i, err)
		}
	}
	return errs
}

func isAllocated(t *testing.T, claims dynamic.ResourceInterface, name string) bool {
	t.Helper()
	claim, err := claims.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, found, _ := unstructured.NestedMap(claim.Object, "status", "allocation")
	return found
}
