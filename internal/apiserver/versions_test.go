package apiserver_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

func resourceIn(version, plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: resourcev1.GroupName, Version: version, Resource: plural}
}

const claimV1beta1YAML = `
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaim
metadata: {name: c}
spec:
  reservedFor: {apiGroup: example.com, resource: jobs, name: j, uid: "1"}
  devices:
    requests:
    - {name: r, deviceClassName: gpu.example.com, tolerations: [{key: a, effect: NoSchedule}]}
    - {name: s, firstAvailable: [{name: big, deviceClassName: gpu.example.com, count: 2}]}
`

// TestClaimInEveryVersion creates a claim in one version, and reads, watches and patches it in
// each.
func TestClaimInEveryVersion(t *testing.T) {
	ns := namespace(t)
	client := dynamicClient(t)
	in := func(version string) dynamic.ResourceInterface {
		return client.Resource(resourceIn(version, "resourceclaims")).Namespace(ns)
	}
	if _, err := in("v1beta1").Create(t.Context(), parse(t, claimV1beta1YAML)[0], metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"v1", "v1beta2", "v1beta1"} {
		c, err := in(version).Get(t.Context(), "c", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		list, err := in(version).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w, err := in(version).Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		event := receiveInTime(t, w.ResultChan())
		w.Stop()
		for from, c := range map[string]*unstructured.Unstructured{"get": c, "list": &list.Items[0],
			"watch": event.Object.(*unstructured.Unstructured)} {
			if want := "resource.k8s.io/" + version; c.GetAPIVersion() != want || c.GetKind() != "ResourceClaim" {
				t.Errorf("%s: got %s %s, want %s", from, c.GetAPIVersion(), c.GetKind(), want)
			}
			requests, _, _ := unstructured.NestedSlice(c.Object, "spec", "devices", "requests")
			first := requests[0].(map[string]any)
			if version != "v1beta1" {
				first = first["exactly"].(map[string]any)
			}
			if first["deviceClassName"] != "gpu.example.com" || first["count"] != int64(1) ||
				nested(t, c, "spec", "reservedFor", "name") != "j" {
				t.Errorf("%s in %s: %v", from, version, c.Object["spec"])
			}
		}
		apply := `{"apiVersion":"resource.k8s.io/` + version + `","kind":"ResourceClaim","metadata":{"name":"c","labels":{"` +
			version + `":"x"}}}`
		options := metav1.PatchOptions{FieldManager: version}
		for _, kind := range []types.PatchType{types.ApplyPatchType, types.MergePatchType} {
			if _, err := in(version).Patch(t.Context(), "c", kind, []byte(apply), options); err != nil {
				t.Fatalf("%s patch in %s: %v", kind, version, err)
			}
		}
	}
	c := claim(t, ns)
	if got := len(c.GetLabels()); got != 3 {
		t.Errorf("labels %v, want one of each version", c.GetLabels())
	}
	if generation := c.GetGeneration(); generation > 1 {
		t.Errorf("the spec has changed on the way: generation %d", generation)
	}
}

// TestErrorsHaveFieldsOfTheRequestsVersion checks that a 422 for a request in v1beta1 has the fields of v1beta1.
func TestErrorsHaveFieldsOfTheRequestsVersion(t *testing.T) {
	ns := namespace(t)
	bad := strings.Replace(claimV1beta1YAML, "deviceClassName: gpu.example.com, tol",
		"deviceClassName: gpu.example.com, count: -1, tol", 1)
	_, err := dynamicClient(t).Resource(
		resourceIn("v1beta1", "resourceclaims"),
	).Namespace(ns).Create(
		t.Context(),
		parse(t, bad)[0],
		metav1.CreateOptions{},
	)
	if got := causes(t, err); !slices.Equal(got, []string{"spec.devices.requests[0].count"}) {
		t.Errorf("got %v", got)
	}
}

// TestTypedClientsOfOldVersions uses protobuf.
func TestTypedClientsOfOldVersions(t *testing.T) {
	cfg := rest.CopyConfig(remote(t))
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	slices := clientset(t, cfg).ResourceV1beta1().ResourceSlices()
	slice := &resourcev1beta1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: uniqueName("old-slice")},
		Spec: resourcev1beta1.ResourceSliceSpec{
			Driver: "gpu.example.com", NodeName: "node-1", Pool: resourcev1beta1.ResourcePool{Name: "node-1",
				ResourceSliceCount: 1},
			Devices: []resourcev1beta1.Device{{Name: "d", Basic: &resourcev1beta1.BasicDevice{
				Attributes: map[resourcev1beta1.QualifiedName]resourcev1beta1.DeviceAttribute{"model": {StringValue: new("a")}},
			}}},
		},
	}
	if _, err := slices.Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := clientset(t, cfg).ResourceV1().ResourceSlices().Get(t.Context(), slice.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if *got.Spec.NodeName != "node-1" || *got.Spec.Devices[0].Attributes["model"].StringValue != "a" {
		t.Errorf("in v1: %+v", got.Spec)
	}
	got.Spec.Devices[0].Attributes["model"] = resourcev1.DeviceAttribute{StringValue: new("b")}
	if _, err := clientset(t, cfg).ResourceV1beta2().ResourceSlices().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := clientset(t, cfg).ResourceV1().ResourceSlices().Update(t.Context(), got,
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	old, err := slices.Get(t.Context(), slice.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if *old.Spec.Devices[0].Basic.Attributes["model"].StringValue != "b" {
		t.Errorf("in v1beta1: %+v", old.Spec)
	}
	old1, old2 := clientset(t, cfg).ResourceV1beta1().ResourceClaims(namespace(t)), clientset(t, cfg).ResourceV1beta2()
	request := resourcev1beta1.DeviceRequest{Name: "r", DeviceClassName: "gpu.example.com"}
	claim, err := old1.Create(t.Context(), &resourcev1beta1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "c"},
		Spec: resourcev1beta1.ResourceClaimSpec{
			Devices: resourcev1beta1.DeviceClaim{Requests: []resourcev1beta1.DeviceRequest{request}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	newer, err := old2.ResourceClaims(claim.Namespace).Get(t.Context(), "c", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if claim.Spec.Devices.Requests[0].Count != 1 ||
		newer.Spec.Devices.Requests[0].Exactly.DeviceClassName != "gpu.example.com" {
		t.Errorf("v1beta1 %+v, v1beta2 %+v", claim.Spec, newer.Spec)
	}
	class := &resourcev1beta1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: uniqueName("old-class")}}
	if _, err := clientset(t, cfg).ResourceV1beta1().DeviceClasses().Create(t.Context(), class,
		metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

// warningRecorder records the warning headers of responses.
type warningRecorder struct {
	mu    sync.Mutex
	texts []string
}

func (w *warningRecorder) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

func (w *warningRecorder) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}

// TestDeviceTaintRule uses a rule in all its versions, and checks its times, its generation and its
// warnings.
func TestDeviceTaintRule(t *testing.T) {
	cfg := rest.CopyConfig(remote(t))
	headers := &warningRecorder{}
	cfg.WarningHandler = headers
	rules := clientset(t, cfg).ResourceV1().DeviceTaintRules()
	rule := &resourcev1.DeviceTaintRule{
		ObjectMeta: metav1.ObjectMeta{Name: uniqueName("everything")},
		Spec: resourcev1.DeviceTaintRuleSpec{
			DeviceSelector: &resourcev1.DeviceTaintSelector{},
			Taint: resourcev1.DeviceTaint{
				Key:       "example.com/broken",
				Effect:    resourcev1.DeviceTaintEffectNone,
				TimeAdded: new(metav1.Unix(1000, 0)),
			},
		},
		Status: resourcev1.DeviceTaintRuleStatus{Conditions: []metav1.Condition{{Type: "X"}}},
	}
	rule, err := rules.Create(t.Context(), rule, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(rule.Status.Conditions) > 0 || rule.Generation != 1 || len(headers.take()) > 0 {
		t.Errorf("new: %+v", rule)
	}
	patch := []byte(`{"spec":{"taint":{"effect":"NoExecute"}}}`)
	old, err := clientset(t, cfg).ResourceV1beta2().DeviceTaintRules().Patch(
		t.Context(),
		rule.Name,
		types.MergePatchType,
		patch,
		metav1.PatchOptions{},
	)
	if err != nil {
		t.Fatal(err)
	}
	if old.Generation != 2 || old.Spec.Taint.TimeAdded.Unix() == 1000 {
		t.Errorf("with another effect: %+v", old)
	}
	if texts := headers.take(); len(texts) != 1 || !strings.Contains(texts[0], "all devices") {
		t.Errorf("warnings %q", texts)
	}
	status := []byte(
		`{"spec":{"taint":{"key":"other"}},"status":{"conditions":[{"type":"EvictionInProgress","status":"True","reason":"PodsPendingEviction",
		"message":"1 pod","lastTransitionTime":"2026-01-02T11:00:00Z","observedGeneration":2}]}}`,
	)
	first, err := clientset(t, cfg).ResourceV1alpha3().DeviceTaintRules().Patch(
		t.Context(),
		rule.Name,
		types.MergePatchType,
		status,
		metav1.PatchOptions{},
		"status",
	)
	if err != nil {
		t.Fatal(err)
	}
	if first.Spec.Taint.Key != "example.com/broken" || len(first.Status.Conditions) != 1 || first.Generation != 2 {
		t.Errorf("after a report: %+v", first)
	}
}

// TestUnconditionalUpdateOfDeviceTaintRule checks that only v1 rejects such an update, as upstream
// does.
func TestUnconditionalUpdateOfDeviceTaintRule(t *testing.T) {
	client := dynamicClient(t)
	for version, want := range map[string]int{"v1": http.StatusUnprocessableEntity, "v1beta2": http.StatusOK,
		"v1alpha3": http.StatusOK} {
		rule := parse(t, `{apiVersion: resource.k8s.io/`+version+`, kind: DeviceTaintRule, metadata: {name: `+uniqueName("blind")+`}, spec: {taint: {key: a, effect: None}}}`)[0]
		rules := client.Resource(resourceIn(version, "devicetaintrules"))
		if _, err := rules.Create(t.Context(), rule, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		rule.SetResourceVersion("")
		_, err := rules.Update(t.Context(), rule, metav1.UpdateOptions{})
		if want == http.StatusOK {
			if err != nil {
				t.Errorf("%s: %v", version, err)
			}
		} else if got := causes(t, err); !slices.Contains(got, "metadata.resourceVersion") {
			t.Errorf("%s: %v", version, got)
		}
	}
}

// TestOldVersionsWarn checks that clients of deprecated versions, and no others, get a warning.
func TestOldVersionsWarn(t *testing.T) {
	cfg := rest.CopyConfig(remote(t))
	headers := &warningRecorder{}
	cfg.WarningHandler = headers
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, plural := range []string{"resourceclaims", "resourceclaimtemplates", "resourceslices", "deviceclasses"} {
		for version, want := range map[string]int{"v1": 0, "v1beta2": 1, "v1beta1": 1} {
			if _, err := client.Resource(resourceIn(version, plural)).List(t.Context(), metav1.ListOptions{}); err != nil {
				t.Fatal(err)
			}
			if texts := headers.take(); len(texts) != want {
				t.Errorf("%s in %s: warnings %q, want %d", plural, version, texts, want)
			}
		}
	}
}
