package apiserver_test

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A node writes its own objects, and reads the objects that its pods refer to (P15).
func TestPermissionsOfNode(t *testing.T) {
	const ns = "node-rights"
	admin := clientset(t, remote(t))
	own := impersonate(t, "system:node:right-a", "system:nodes")
	other := impersonate(t, "system:node:right-b", "system:nodes")
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	_, err := admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}},
		metav1.CreateOptions{})
	must("namespace", err)
	for _, name := range []string{"used", "unused"} {
		_, err = admin.CoreV1().Secrets(ns).Create(
			t.Context(),
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{},
		)
		must("secret", err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{
		NodeName: "right-a", Containers: []corev1.Container{{Name: "c", Image: "i"}},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "used"}},
	}}
	_, err = admin.CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{})
	must("pod", err)

	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "right-a"}}
	_, err = own.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	must("own Node", err)
	_, err = own.CoreV1().Nodes().Patch(t.Context(), "right-a", "application/merge-patch+json",
		[]byte(`{"status":{"phase":"Running"}}`), metav1.PatchOptions{}, "status")
	must("own status", err)
	_, err = own.CoreV1().Nodes().Patch(t.Context(), "right-a", "application/merge-patch+json",
		[]byte(`{"spec":{"taints":[{"key":"x","effect":"NoSchedule"}]}}`), metav1.PatchOptions{})
	forbidden(t, "own taints", err, "may not change its taints")
	_, err = other.CoreV1().Nodes().Patch(t.Context(), "right-a", "application/merge-patch+json",
		[]byte(`{"metadata":{"labels":{"x":"y"}}}`), metav1.PatchOptions{})
	forbidden(t, "another Node", err, "its own Node")

	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "right-a"}}
	_, err = other.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(t.Context(), lease, metav1.CreateOptions{})
	forbidden(t, "lease of another node", err, "its own name")
	_, err = own.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(t.Context(), lease, metav1.CreateOptions{})
	must("own lease", err)
	_, err = own.CoordinationV1().Leases(metav1.NamespaceSystem).Create(t.Context(), lease, metav1.CreateOptions{})
	forbidden(t, "lease elsewhere", err)

	eventually(t, "the node reads a secret of its pod", func() bool {
		_, err := own.CoreV1().Secrets(ns).Get(t.Context(), "used", metav1.GetOptions{})
		return err == nil
	})
	_, err = own.CoreV1().Secrets(ns).Get(t.Context(), "unused", metav1.GetOptions{})
	forbidden(t, "another secret", err, "no pod on node right-a refers to it")
	_, err = other.CoreV1().Secrets(ns).Get(t.Context(), "used", metav1.GetOptions{})
	forbidden(t, "a secret of another node's pod", err)
	_, err = own.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=right-a"})
	must("own pods", err)
	_, err = own.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	forbidden(t, "all pods", err, "field selector")
	forbidden(t, "pod of another", other.CoreV1().Pods(ns).Delete(t.Context(), "p", metav1.DeleteOptions{}),
		"bound to itself")

	slice := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "right-a-x"},
		Spec: resourcev1.ResourceSliceSpec{
			Driver:   "x.test",
			NodeName: new("right-a"),
			Pool:     resourcev1.ResourcePool{Name: "right-a", ResourceSliceCount: 1},
		},
	}
	_, err = other.ResourceV1().ResourceSlices().Create(t.Context(), slice, metav1.CreateOptions{})
	forbidden(t, "slice of another node", err, "its own spec.nodeName")
	_, err = own.ResourceV1().ResourceSlices().Create(t.Context(), slice, metav1.CreateOptions{})
	must("own slice", err)
	eventually(t, "the server has seen the slice", func() bool {
		_, err := own.ResourceV1().ResourceSlices().Get(t.Context(), "right-a-x", metav1.GetOptions{})
		return err == nil
	})
	forbidden(t, "slice of another",
		other.ResourceV1().ResourceSlices().Delete(t.Context(), "right-a-x", metav1.DeleteOptions{}))
	must("own slice", own.ResourceV1().ResourceSlices().Delete(t.Context(), "right-a-x", metav1.DeleteOptions{}))
	must("own pod", own.CoreV1().Pods(ns).Delete(t.Context(), "p", metav1.DeleteOptions{}))
}
