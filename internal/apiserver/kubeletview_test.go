package apiserver_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// TestKubeletsUnderstandClaims checks that a stock kubelet gets pods in the form that it knows. It
// rejected pods with the fields of KEP-5729 and KEP-5978: "none of the supported fields are set".
func TestKubeletsUnderstandClaims(t *testing.T) {
	admin, ns := clientset(t, remote(t)), namespace(t)
	_, node := startKubelet(t, admin)
	manifest := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {
"nodeName": %q, "schedulingGroup": {"podGroupName": "g"}, "containers": [{"name": "c", "image": "i"}],
"resourceClaims": [
 {"name": "shared", "podGroupResourceClaim": "of-group"}, {"name": "unknown", "podGroupResourceClaim": "other"},
 {"name": "everywhere", "clusterResourceClaimTemplateName": "c"},
 {"name": "own", "resourceClaimTemplateName": "t"}]}}`, node)
	post := admin.CoreV1().RESTClient().Post().Namespace(ns).Resource("pods")
	if err := post.Body([]byte(manifest)).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	status := `{"status": {"resourceClaimStatuses": [{"name": "shared", "resourceClaimName": "g-of-group"}]}}`
	if _, err := admin.CoreV1().Pods(ns).Patch(t.Context(), "p", types.MergePatchType, []byte(status),
		metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	ofNode := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String()}
	for _, c := range []struct {
		who    *kubernetes.Clientset
		claims string
	}{
		{admin, "shared; unknown; everywhere; own template t; "},
		{
			impersonate(t, "system:node:"+node, "system:nodes"),
			"shared claim g-of-group; unknown template other; everywhere template c; own template t; ",
		},
	} {
		client := c.who.CoreV1()
		pod, err := client.Pods(ns).Get(t.Context(), "p", metav1.GetOptions{})
		if err != nil || claimsOf(pod) != c.claims {
			t.Errorf("get: error %v, %s, want %s", err, claimsOf(pod), c.claims)
		}
		list, err := client.Pods(corev1.NamespaceAll).List(t.Context(), ofNode)
		if err != nil || len(list.Items) != 1 || claimsOf(&list.Items[0]) != c.claims {
			t.Errorf("list: error %v, %+v, want %s", err, list, c.claims)
		}
		w, err := client.Pods(corev1.NamespaceAll).Watch(t.Context(), ofNode)
		if err != nil {
			t.Fatal(err)
		}
		if pod := (<-w.ResultChan()).Object.(*corev1.Pod); claimsOf(pod) != c.claims {
			t.Errorf("watch: %s, want %s", claimsOf(pod), c.claims)
		}
		w.Stop()
	}
}

// claimsOf returns the entries of a pod with the fields that a kubelet knows.
func claimsOf(pod *corev1.Pod) string {
	text := ""
	for _, c := range pod.Spec.ResourceClaims {
		text += c.Name
		if c.ResourceClaimName != nil {
			text += " claim " + *c.ResourceClaimName
		}
		if c.ResourceClaimTemplateName != nil {
			text += " template " + *c.ResourceClaimTemplateName
		}
		text += "; "
	}
	return text
}
