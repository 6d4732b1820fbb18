package apiserver_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

var (
	podsResource        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	deploymentsResource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	claimsResource      = schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaims"}
)

func pod(t *testing.T, pods typedcorev1.PodInterface, name string) *corev1.Pod {
	t.Helper()
	p, err := pods.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func bind(t *testing.T, pods typedcorev1.PodInterface, name, node string, uid types.UID) error {
	t.Helper()
	return pods.Bind(t.Context(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			UID:         uid,
			Labels:      map[string]string{"rack": "r1"},
			Annotations: map[string]string{"why": "fits"},
		},
		Target: corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
}

func TestPodStart(t *testing.T) {
	ns := namespace(t)
	create(t, ns, podYAML)
	p := pod(t, clientset(t, remote(t)).CoreV1().Pods(ns), "p")
	if p.Status.Phase != corev1.PodPending || p.Status.QOSClass != corev1.PodQOSBestEffort || p.Generation != 1 {
		t.Errorf("phase %s, class %s, generation %d", p.Status.Phase, p.Status.QOSClass, p.Generation)
	}
	if p.Spec.Priority == nil || *p.Spec.Priority != 0 || *p.Spec.PreemptionPolicy != corev1.PreemptLowerPriority {
		t.Errorf("priority %v, policy %v", p.Spec.Priority, p.Spec.PreemptionPolicy)
	}
}

func TestBinding(t *testing.T) {
	ns := namespace(t)
	create(t, ns, podYAML)
	pods := clientset(t, remote(t)).CoreV1().Pods(ns)
	if err := bind(t, pods, "none", "n1", ""); !apierrors.IsNotFound(err) {
		t.Errorf("missing pod: got %v, want not found", err)
	}
	if err := bind(t, pods, "p", "n1", "another"); !apierrors.IsConflict(err) {
		t.Errorf("another UID: got %v, want conflict", err)
	}
	if err := bind(t, pods, "p", "Not A Node", ""); !apierrors.IsInvalid(err) {
		t.Errorf("bad node name: got %v, want invalid", err)
	}
	before := pod(t, pods, "p")
	if err := bind(t, pods, "p", "n1", before.UID); err != nil {
		t.Fatal(err)
	}
	p := pod(t, pods, "p")
	if p.Spec.NodeName != "n1" || p.Labels["rack"] != "r1" || p.Annotations["why"] != "fits" {
		t.Errorf("node %q, labels %v, annotations %v", p.Spec.NodeName, p.Labels, p.Annotations)
	}
	if len(p.Status.Conditions) != 1 || p.Status.Conditions[0].Type != corev1.PodScheduled ||
		p.Status.Conditions[0].Status != corev1.ConditionTrue {
		t.Errorf("conditions are %v", p.Status.Conditions)
	}
	if err := bind(t, pods, "p", "n2", ""); !apierrors.IsConflict(err) {
		t.Errorf("bound already: got %v, want conflict", err)
	}
	u, err := dynamicClient(t).Resource(podsResource).Namespace(ns).Get(t.Context(), "p", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := claimSource(t, u); got != "shared" {
		t.Errorf("binding changed the added field to %q", got)
	}
}

// claimSource returns podGroupResourceClaim of a pod's first claim.
func claimSource(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	list, _, err := unstructured.NestedSlice(u.Object, "spec", "resourceClaims")
	if err != nil || len(list) == 0 {
		t.Fatalf("spec.resourceClaims: %v, %v", list, err)
	}
	s, _ := list[0].(map[string]any)["podGroupResourceClaim"].(string)
	return s
}

// A bound pod has the zone and the region of its node, set by the write that binds it (P22).
func TestBindingCopiesTopology(t *testing.T) {
	ns := namespace(t)
	create(t, ns, podYAML)
	clients := clientset(t, remote(t))
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "zoned-", Labels: map[string]string{
		corev1.LabelTopologyZone: "z", corev1.LabelTopologyRegion: "r", "rack": "another",
	}}}
	node, err := clients.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pods := clients.CoreV1().Pods(ns)
	if err := bind(t, pods, "p", node.Name, ""); err != nil {
		t.Fatal(err)
	}
	p := pod(t, pods, "p")
	if p.Labels[corev1.LabelTopologyZone] != "z" || p.Labels[corev1.LabelTopologyRegion] != "r" ||
		p.Labels["rack"] != "r1" {
		t.Errorf("labels %v", p.Labels)
	}
}

func TestBindingRefusesGatesAndDeletedPods(t *testing.T) {
	ns := namespace(t)
	pods := clientset(t, remote(t)).CoreV1().Pods(ns)
	create(
		t, ns,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"gated"},"spec":{"schedulingGates":[{"name":"example.com/wait"}],"containers":[{"name":"c","image":"i"}]}}`,
	)
	if err := bind(t, pods, "gated", "n1", ""); !apierrors.IsConflict(err) {
		t.Errorf("gated: got %v, want conflict", err)
	}
	if c := pod(t, pods, "gated").Status.Conditions; len(c) != 1 || c[0].Reason != corev1.PodReasonSchedulingGated {
		t.Errorf("conditions are %v", c)
	}
	create(
		t, ns,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"going","finalizers":["example.com/hold"]},"spec":{"containers":[{"name":"c","image":"i"}]}}`,
	)
	if err := pods.Delete(t.Context(), "going", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := bind(t, pods, "going", "n1", ""); !apierrors.IsConflict(err) {
		t.Errorf("being deleted: got %v, want conflict", err)
	}
}

func TestGracefulDeletion(t *testing.T) {
	ns := namespace(t)
	pods := clientset(t, remote(t)).CoreV1().Pods(ns)
	w, err := pods.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	create(t, ns, podYAML)
	if err := bind(t, pods, "p", "n1", ""); err != nil {
		t.Fatal(err)
	}
	if err := pods.Delete(t.Context(), "p", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p := pod(t, pods, "p")
	if p.DeletionTimestamp == nil || p.DeletionGracePeriodSeconds == nil || *p.DeletionGracePeriodSeconds != 30 ||
		p.Generation != 2 {
		t.Errorf("deletion %v, grace %v, generation %d", p.DeletionTimestamp, p.DeletionGracePeriodSeconds, p.Generation)
	}
	now := int64(0)
	if err := pods.Delete(t.Context(), "p", metav1.DeleteOptions{GracePeriodSeconds: &now,
		Preconditions: &metav1.Preconditions{UID: &p.UID}}); err != nil {
		t.Fatal(err)
	}
	for {
		if e := receiveInTime(t, w.ResultChan()); e.Type == watch.Deleted {
			break
		}
	}
	if _, err := pods.Get(t.Context(), "p", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v, want not found", err)
	}
}

func TestFinishedPodsAreDeletedImmediately(t *testing.T) {
	ns := namespace(t)
	pods := clientset(t, remote(t)).CoreV1().Pods(ns)
	create(t, ns, podYAML)
	if err := bind(t, pods, "p", "n1", ""); err != nil {
		t.Fatal(err)
	}
	p := pod(t, pods, "p")
	p.Status.Phase = corev1.PodSucceeded
	if _, err := pods.UpdateStatus(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := pods.Delete(t.Context(), "p", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := pods.Get(t.Context(), "p", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v, want not found", err)
	}
}

func TestPodSelectors(t *testing.T) {
	ns := namespace(t)
	pods := clientset(t, remote(t)).CoreV1().Pods(ns)
	create(t, ns, podYAML)
	create(
		t, ns,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"q"},"spec":{"schedulerName":"other","containers":[{"name":"c","image":"i"}]}}`,
	)
	if err := bind(t, pods, "p", "n1", ""); err != nil {
		t.Fatal(err)
	}
	for selector, want := range map[string]int{
		"spec.nodeName=n1": 1, "spec.nodeName=": 1, "spec.nodeName!=n1": 1, "status.phase=Pending": 2,
		"spec.schedulerName=other": 1, "metadata.name=q,status.phase=Pending": 1, "spec.restartPolicy=Never": 0,
	} {
		list, err := pods.List(t.Context(), metav1.ListOptions{FieldSelector: selector})
		if err != nil {
			t.Errorf("%s: %v", selector, err)
			continue
		}
		if len(list.Items) != want {
			t.Errorf("%s: %d pods, want %d", selector, len(list.Items), want)
		}
	}
	if _, err := pods.List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nonsense=x"}); !apierrors.IsBadRequest(
		err,
	) {
		t.Errorf("unknown field: got %v, want a bad request", err)
	}
	w, err := pods.Watch(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=n1"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if e := receiveInTime(t, w.ResultChan()); e.Type != watch.Added || e.Object.(*corev1.Pod).Name != "p" {
		t.Errorf("watch by node: %v", e)
	}
}

// TestOldClientKeepsAddedFieldsOfPods updates a pod with a client whose types lack allot's fields.
func TestOldClientKeepsAddedFieldsOfPods(t *testing.T) {
	for name, cfg := range map[string]string{"json": "application/json",
		"protobuf": "application/vnd.kubernetes.protobuf"} {
		t.Run(name, func(t *testing.T) {
			ns, c := namespace(t), remote(t)
			c.ContentType = cfg
			pods := clientset(t, c).CoreV1().Pods(ns)
			create(t, ns, podYAML)
			p := pod(t, pods, "p")
			p.Labels = map[string]string{"by": name}
			if _, err := pods.Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			u, err := dynamicClient(t).Resource(podsResource).Namespace(ns).Get(t.Context(), "p", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if claimSource(t, u) != "shared" || u.GetLabels()["by"] != name || u.GetGeneration() != 1 {
				t.Errorf("source %q, labels %v, generation %d", claimSource(t, u), u.GetLabels(), u.GetGeneration())
			}
		})
	}
}

func TestPriority(t *testing.T) {
	ns := namespace(t)
	pods := clientset(t, remote(t)).CoreV1().Pods(ns)
	class := uniqueName("high")
	create(
		t, ns,
		`{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"`+class+`"},"value":1000,"preemptionPolicy":"Never"}`,
	)
	create(
		t, ns,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"high"},"spec":{"priorityClassName":"`+class+`","containers":[{"name":"c","image":"i"}]}}`,
	)
	p := pod(t, pods, "high")
	if *p.Spec.Priority != 1000 || *p.Spec.PreemptionPolicy != corev1.PreemptNever {
		t.Errorf("priority %d, policy %s", *p.Spec.Priority, *p.Spec.PreemptionPolicy)
	}
	for _, spec := range []string{`"priorityClassName":"none"`, `"priorityClassName":"` + class + `","priority":7`,
		`"priority":7`} {
		_, err := tryCreate(
			t, ns,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"bad"},"spec":{`+spec+`,"containers":[{"name":"c","image":"i"}]}}`,
		)
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: got %v, want forbidden", spec, err)
		}
	}
	critical := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"critical"},"spec":{"priorityClassName":"system-node-critical","containers":[{"name":"c","image":"i"}]}}`
	create(t, ns, critical)
	if p := pod(t, pods, "critical"); *p.Spec.Priority != 2000001000 {
		t.Errorf("system-node-critical is %d", *p.Spec.Priority)
	}
}

func TestLogsReportWhyTheyAreUnavailable(t *testing.T) {
	ns := namespace(t)
	client := clientset(t, remote(t))
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: uniqueName("simulated")}}
	if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	podOn(t, client, ns, "p", node.Name, "c")
	err := client.CoreV1().Pods(ns).GetLogs("p", &corev1.PodLogOptions{}).Do(t.Context()).Error()
	if err == nil || err.Error() != "pod p has no logs: it runs on a simulated node" {
		t.Errorf("got %v", err)
	}
	podOn(t, client, ns, "waits", "", "c")
	logs, err := client.CoreV1().Pods(ns).GetLogs("waits", &corev1.PodLogOptions{}).Do(t.Context()).Raw()
	if err != nil || len(logs) > 0 {
		t.Errorf("a pod without a node has the logs %q, error %v", logs, err)
	}
}
