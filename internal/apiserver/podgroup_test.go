package apiserver_test

import (
	"fmt"
	"slices"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
)

const workloadYAML = `
apiVersion: scheduling.k8s.io/v1alpha2
kind: Workload
metadata: {name: w}
spec:
  podGroupTemplates:
  - name: t
    schedulingPolicy: {gang: {minCount: 3}}
    priorityClassName: not-copied
    resourceClaims:
    - {name: not-copied, resourceClaimTemplateName: x}
`

const groupByReference = `
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: g}
spec:
  podGroupTemplateRef: {workloadName: w, podGroupTemplateName: t}
`

func podGroups(t *testing.T, ns, version string) dynamic.ResourceInterface {
	t.Helper()
	gvr := schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: version, Resource: "podgroups"}
	return dynamicClient(t).Resource(gvr).Namespace(ns)
}

func nested(t *testing.T, u *unstructured.Unstructured, path ...string) string {
	t.Helper()
	v, _, err := unstructured.NestedFieldNoCopy(u.Object, path...)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(v)
}

// TestPodGroupTakesItsTemplatesPolicy is KEP-5729's example: the reference is flat, and there is no
// policy.
func TestPodGroupTakesItsTemplatesPolicy(t *testing.T) {
	ns := namespace(t)
	create(t, ns, workloadYAML)
	g := create(t, ns, groupByReference)
	if got := nested(t, g, "spec", "schedulingPolicy"); got != "map[gang:map[minCount:3]]" {
		t.Errorf("policy is %s", got)
	}
	if got := nested(t, g, "spec", "podGroupTemplateRef"); got != "map[workload:map[podGroupTemplateName:t workloadName:w]]" {
		t.Errorf("reference is %s, want the nested form", got)
	}
	if g.GetGeneration() != 1 || !slices.Contains(g.GetFinalizers(), "scheduling.k8s.io/podgroup-protection") {
		t.Errorf("generation %d, finalizers %v", g.GetGeneration(), g.GetFinalizers())
	}
	hub, err := podGroups(t, ns, "v1beta1").Get(t.Context(), "g", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if nested(t, hub, "spec", "workloadRef") != "map[templateName:t workloadName:w]" {
		t.Errorf("in v1beta1 the reference is %s", nested(t, hub, "spec", "workloadRef"))
	}
	if got := nested(t, hub, "spec", "resourceClaims") + nested(t, hub, "spec", "priorityClassName"); got != "<nil><nil>" {
		t.Errorf("more than the policy was copied: %s", got)
	}
	again := parse(t, groupByReference)[0]
	again.SetResourceVersion(g.GetResourceVersion())
	replaced, err := podGroups(t, ns, "v1alpha2").Update(t.Context(), again, metav1.UpdateOptions{})
	if err != nil {
		t.Fatalf("the same manifest again: %v", err)
	}
	if got := nested(t, replaced, "spec", "schedulingPolicy"); got != "map[gang:map[minCount:3]]" ||
		replaced.GetGeneration() != 1 {
		t.Errorf("the same manifest again: policy %s, generation %d", got, replaced.GetGeneration())
	}
}

func TestPodGroupWithoutItsTemplate(t *testing.T) {
	ns := namespace(t)
	create(t, ns, workloadYAML)
	tests := []struct{ version, ref, field string }{
		{
			"v1alpha2",
			`podGroupTemplateRef: {workloadName: none, podGroupTemplateName: t}`,
			"spec.podGroupTemplateRef.workload.workloadName",
		},
		{
			"v1alpha2",
			`podGroupTemplateRef: {workload: {workloadName: w, podGroupTemplateName: none}}`,
			"spec.podGroupTemplateRef.workload.podGroupTemplateName",
		},
		{"v1beta1", `workloadRef: {workloadName: none, templateName: t}`, "spec.workloadRef.workloadName"},
		{"v1beta1", `workloadRef: {workloadName: w, templateName: none}`, "spec.workloadRef.templateName"},
	}
	for _, tt := range tests {
		_, err := tryCreate(t, ns,
			"apiVersion: scheduling.k8s.io/"+tt.version+"\nkind: PodGroup\nmetadata: {name: g}\nspec:\n  "+tt.ref)
		if got := causes(t, err); !slices.Equal(got, []string{tt.field}) {
			t.Errorf("%s: fields %v, want %s", tt.ref, got, tt.field)
		}
	}
}

func TestPodGroupErrorsHaveFieldsOfTheRequestsVersion(t *testing.T) {
	ns := namespace(t)
	for version, tt := range map[string]struct{ ref, field string }{
		"v1alpha2": {`podGroupTemplateRef: {workload: {workloadName: w, podGroupTemplateName: "NOT A LABEL"}}`,
			"spec.podGroupTemplateRef.workload.podGroupTemplateName"},
		"v1beta1": {`workloadRef: {workloadName: w, templateName: "NOT A LABEL"}`, "spec.workloadRef.templateName"},
	} {
		_, err := tryCreate(
			t, ns,
			"apiVersion: scheduling.k8s.io/"+version+"\nkind: PodGroup\nmetadata: {name: g}\nspec:\n  schedulingPolicy: {basic: {}}\n  "+tt.ref,
		)
		if got := causes(t, err); !slices.Contains(got, tt.field) {
			t.Errorf("%s: fields %v, want %s", version, got, tt.field)
		}
	}
}

func TestPodGroupSpecIsImmutableButForMinCount(t *testing.T) {
	ns := namespace(t)
	create(t, ns, `
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: g}
spec:
  schedulingPolicy: {gang: {minCount: 3}}
  resourceClaims:
  - {name: c, clusterResourceClaimTemplateName: t}
`)
	client := podGroups(t, ns, "v1beta1")
	patch := func(body string) (*unstructured.Unstructured, error) {
		return client.Patch(t.Context(), "g", types.MergePatchType, []byte(body), metav1.PatchOptions{})
	}
	for body, field := range map[string]string{
		`{"spec":{"resourceClaims":null}}`:                                 "spec.resourceClaims",
		`{"spec":{"schedulingPolicy":{"gang":null,"basic":{}}}}`:           "spec.schedulingPolicy",
		`{"spec":{"workloadRef":{"workloadName":"w","templateName":"t"}}}`: "spec.workloadRef",
	} {
		_, err := patch(body)
		if got := causes(t, err); len(got) == 0 || got[0][:len(field)] != field {
			t.Errorf("%s: fields %v, want %s", body, got, field)
		}
	}
	g, err := patch(`{"spec":{"schedulingPolicy":{"gang":{"minCount":5}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if g.GetGeneration() != 2 {
		t.Errorf("generation is %d, want 2", g.GetGeneration())
	}
}

func TestPodGroupStatusUpdateChangesOnlyStatus(t *testing.T) {
	ns := namespace(t)
	g := create(t, ns,
		"apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: g}\nspec:\n  schedulingPolicy: {basic: {}}")
	g.SetLabels(map[string]string{"from": "status"})
	g.Object["status"] = map[string]any{"conditions": []any{
		map[string]any{
			"type":               "PodGroupScheduled",
			"status":             "True",
			"reason":             "Scheduled",
			"message":            "",
			"lastTransitionTime": "2026-01-01T00:00:00Z",
			"observedGeneration": int64(1),
		},
		map[string]any{
			"type":               "PodGroupInitiallyScheduled",
			"status":             "True",
			"reason":             "Scheduled",
			"message":            "",
			"lastTransitionTime": "2026-01-01T00:00:00Z",
			"observedGeneration": int64(1),
		},
	}}
	got, err := podGroups(t, ns, "v1beta1").UpdateStatus(t.Context(), g, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.GetLabels()) != 0 || got.GetGeneration() != 1 {
		t.Errorf("labels %v, generation %d", got.GetLabels(), got.GetGeneration())
	}
	old, err := podGroups(t, ns, "v1alpha2").Get(t.Context(), "g", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if conditions, _, _ := unstructured.NestedSlice(old.Object, "status", "conditions"); len(conditions) != 2 {
		t.Errorf("conditions in v1alpha2: %v", conditions)
	}
}

// TestPodStatusHasItsGroupsClaims checks that the status of a new pod names the claims that its group
// already has.
func TestPodStatusHasItsGroupsClaims(t *testing.T) {
	ns := namespace(t)
	create(t, ns, `
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: g}
spec:
  schedulingPolicy: {basic: {}}
  resourceClaims:
  - {name: shared, resourceClaimName: by-name}
  - {name: later, resourceClaimTemplateName: t}
`)
	groups := podGroups(t, ns, "v1beta1")
	patched, err := groups.Patch(
		t.Context(),
		"g",
		types.MergePatchType,
		[]byte(`{"status":{"resourceClaimStatuses":[{"name":"later","resourceClaimName":"generated"}]}}`),
		metav1.PatchOptions{},
		"status",
	)
	if err != nil {
		t.Fatal(err)
	}
	// The server reads groups from its watch cache; the claim controller completes the pod if the
	// cache is behind. A request for a version that is not older makes the cache current.
	if _, err := groups.Get(t.Context(), "g", metav1.GetOptions{ResourceVersion: patched.GetResourceVersion()}); err != nil {
		t.Fatal(err)
	}
	p := create(t, ns, `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  schedulingGroup: {podGroupName: g}
  resourceClaims:
  - {name: a, podGroupResourceClaim: shared}
  - {name: b, podGroupResourceClaim: later}
  - {name: own, resourceClaimTemplateName: t}
  containers:
  - {name: c, image: i}
`)
	want := "[map[name:a resourceClaimName:by-name] map[name:b resourceClaimName:generated]]"
	if got := nested(t, p, "status", "resourceClaimStatuses"); got != want {
		t.Errorf("claim names are %s, want %s", got, want)
	}
}

// TestPodStatusHasItsOwnClaims checks that the status of a new pod names the claims that will be
// generated for it, and not those whose template does not exist.
func TestPodStatusHasItsOwnClaims(t *testing.T) {
	ns := namespace(t)
	template := create(t, ns, `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: t}
spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: c}}]}}}
`)
	templates := dynamicClient(t).Resource(resourcev1.SchemeGroupVersion.WithResource("resourceclaimtemplates"))
	if _, err := templates.Namespace(ns).Get(t.Context(), "t",
		metav1.GetOptions{ResourceVersion: template.GetResourceVersion()}); err != nil {
		t.Fatal(err) // as in TestPodKnowsItsGroupsClaims
	}
	created := create(t, ns, `
apiVersion: v1
kind: Pod
metadata: {generateName: p-}
spec:
  resourceClaims:
  - {name: own, resourceClaimTemplateName: t}
  - {name: later, resourceClaimTemplateName: none}
  containers:
  - {name: c, image: i}
`)
	var pod core.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(created.Object, &pod); err != nil {
		t.Fatal(err)
	}
	owner := claims.PodOwner(&pod, nil)
	spec := &resource.ResourceClaimSpec{}
	facts := claims.Facts{Templates: map[claims.Source]claims.Template{owner.Entries[0].Source: {Spec: spec}}}
	change := claims.DesiredClaims(owner, facts)
	if len(change.Create) != 1 || len(change.Ask) > 0 || change.Record != nil {
		t.Fatalf("the change is %+v, want one claim to create and no name to record", change)
	}
	want := fmt.Sprintf("[map[name:own resourceClaimName:%s]]", change.Create[0].Name)
	if got := nested(t, created, "status", "resourceClaimStatuses"); got != want {
		t.Errorf("claim names are %s, want %s", got, want)
	}
}

func TestDeletedPodGroupWaitsForItsFinalizer(t *testing.T) {
	ns := namespace(t)
	create(t, ns,
		"apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: g}\nspec:\n  schedulingPolicy: {basic: {}}")
	client := podGroups(t, ns, "v1beta1")
	if err := client.Delete(t.Context(), "g", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	g, err := client.Get(t.Context(), "g", metav1.GetOptions{})
	if err != nil || g.GetDeletionTimestamp() == nil {
		t.Fatalf("deleted group: %v, %v", g, err)
	}
	if _, err := client.Patch(t.Context(), "g", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`),
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Get(t.Context(), "g", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v, want not found", err)
	}
}

// TestPodGroupPolicyCannotBeRemoved distinguishes a patch that removes the policy from a manifest
// that never had it.
func TestPodGroupPolicyCannotBeRemoved(t *testing.T) {
	ns := namespace(t)
	create(t, ns, workloadYAML)
	create(t, ns, groupByReference)
	create(
		t, ns,
		"apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: own}\nspec: {schedulingPolicy: {gang: {minCount: 2}}}",
	)
	groups := podGroups(t, ns, "v1beta1")
	for _, name := range []string{"g", "own"} {
		for kind, body := range map[types.PatchType]string{
			types.MergePatchType:          `{"spec":{"schedulingPolicy":null}}`,
			types.StrategicMergePatchType: `{"spec":{"schedulingPolicy":{"gang":null}}}`,
			types.JSONPatchType:           `[{"op":"remove","path":"/spec/schedulingPolicy/gang"}]`,
		} {
			_, err := groups.Patch(t.Context(), name, kind, []byte(body), metav1.PatchOptions{})
			if got := causes(t, err); !slices.Equal(got, []string{"spec.schedulingPolicy.gang", "spec.schedulingPolicy"}) {
				t.Errorf("%s, %s: fields %v", name, kind, got)
			}
		}
	}
	own, err := groups.Get(t.Context(), "own", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(own.Object, "spec", "schedulingPolicy")
	_, err = groups.Update(t.Context(), own, metav1.UpdateOptions{})
	if got := causes(t, err); !slices.Equal(got, []string{"spec.schedulingPolicy.gang", "spec.schedulingPolicy"}) {
		t.Errorf("a manifest that has lost its policy: fields %v", got)
	}
}

// TestPodGroupIsAppliedTwice applies the same manifest again, which omits the fields that admission
// has set.
func TestPodGroupIsAppliedTwice(t *testing.T) {
	ns := namespace(t)
	create(t, ns, workloadYAML)
	for range 2 {
		g, err := podGroups(t, ns, "v1alpha2").Apply(
			t.Context(),
			"g",
			parse(t, groupByReference)[0],
			metav1.ApplyOptions{FieldManager: "me"},
		)
		if err != nil {
			t.Fatal(err)
		}
		if got := nested(t, g, "spec", "schedulingPolicy"); got != "map[gang:map[minCount:3]]" || g.GetGeneration() != 1 {
			t.Errorf("policy %s, generation %d", got, g.GetGeneration())
		}
	}
}

// A negative generation is rejected where Kubernetes stores the client's value, and replaced where
// it does not (P34).
func TestGenerationBelowZero(t *testing.T) {
	ns := namespace(t)
	for version, refused := range map[string]bool{"v1beta1": true, "v1alpha2": true} {
		_, err := tryCreate(t, ns, `
apiVersion: scheduling.k8s.io/`+version+`
kind: PodGroup
metadata: {name: below-`+version+`, generation: -1}
spec: {schedulingPolicy: {basic: {}}}
`)
		if apierrors.IsInvalid(err) != refused {
			t.Errorf("%s: %v", version, err)
		}
	}
	pod := create(t, ns, `
apiVersion: v1
kind: Pod
metadata: {name: below, generation: -1}
spec: {containers: [{name: c, image: i}]}
`)
	if got := pod.GetGeneration(); got != 1 {
		t.Errorf("the pod's generation is %d", got)
	}
}
