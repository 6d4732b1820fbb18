package apiserver_test

import (
	"path/filepath"
	"slices"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/apiserver"
	"github.com/allot-dev/allot/internal/etcd"
)

// TestKeysOfKubernetes checks that objects are stored under the keys of kube-apiserver.
// test/peer/cluster starts both on one etcd.
func TestKeysOfKubernetes(t *testing.T) {
	cfg := apiserver.Config{DataDir: t.TempDir(), UnsafeNoFsync: true}
	server := startServer(t, cfg)
	client := clientset(t, server.Loopback())
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "mine", Namespace: "default"}}
	if _, err := client.ResourceV1().ResourceClaims("default").Create(t.Context(), claim,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "one"}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	stopServer(t, server)

	member, err := etcd.Start(t.Context(), etcd.Options{Dir: filepath.Join(cfg.DataDir, "etcd"), UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	all, err := member.Client().Get(t.Context(), "/registry/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, kv := range all.Kvs {
		keys = append(keys, string(kv.Key))
	}
	for _, want := range []string{"/registry/resourceclaims/default/mine", "/registry/minions/one",
		"/registry/namespaces/default"} {
		if !slices.Contains(keys, want) {
			t.Errorf("%s is not among %q", want, keys)
		}
	}
}
