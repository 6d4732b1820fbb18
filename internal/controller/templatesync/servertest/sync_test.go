package servertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/controller/templatesync"
)

// TestF31ManyNamespacesAndANewOne checks that an original is copied to 100 namespaces, with one
// request each, and that a pod that is created together with its namespace gets its claim without a
// retry by a user. The time is logged: it should be less than 5 s on a machine without other load.
func TestF31ManyNamespacesAndANewOne(t *testing.T) {
	w := start(t, templatesync.Options{QPS: 100, Burst: 100})
	newNamespaces(t, 100)
	began := time.Now()
	newOriginal(t, "h100", "gpu.example.com")
	awaitStatus(t, "h100", "100/100/0 InStep")
	t.Logf("took %s", w.lastWrite().Sub(began))
	if n := w.count(templates("create", "patch", "delete", "get")); n != 100 {
		t.Errorf("%d requests for 100 namespaces", n)
	}
	fresh := newNamespaces(t, 1)[0]
	newPod(t, fresh, "early", "h100")
	claim := claimOf(t, fresh, "early")
	if claim.Spec.Devices.Requests[0].Exactly.DeviceClassName != "gpu.example.com" || claim.Labels["made-from"] != "h100" {
		t.Errorf("the claim is %v", claim)
	}
	awaitStatus(t, "h100", "101/101/0 InStep")
}

// TestF31ForeignTemplate checks that a user's template is not changed, is reported by an event, and
// is replaced by a copy once it is deleted.
func TestF31ForeignTemplate(t *testing.T) {
	start(t, templatesync.Options{})
	ns := newNamespaces(t, 2)
	mine := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: "taken"}}
	mine.Spec.Spec = spec("mine.example.com")
	mine = must(typed.ResourceV1().ResourceClaimTemplates(ns[0]).Create(t.Context(), mine, metav1.CreateOptions{}))(t)
	newOriginal(t, "taken", "gpu.example.com")
	awaitStatus(t, "taken", "2/1/1 Conflict")
	if o := original(t, "taken"); len(o.Status.Conflicts) != 1 || o.Status.Conflicts[0].Namespace != ns[0] {
		t.Errorf("conflicts: %v", o.Status.Conflicts)
	}
	eventually(t, "an event tells of the conflict", func() bool {
		list := must(typed.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{}))(t)
		return slices.ContainsFunc(list.Items, func(e corev1.Event) bool {
			return e.InvolvedObject.Name == "taken" && e.Reason == "Conflict" && strings.Contains(e.Message, ns[0])
		})
	})
	changeClass(t, "taken", "other.example.com")
	eventually(t, "the copy is replaced", func() bool { return classOf(t, ns[1], "taken") == "other.example.com" })
	same := must(typed.ResourceV1().ResourceClaimTemplates(ns[0]).Get(t.Context(), "taken", metav1.GetOptions{}))(t)
	if same.ResourceVersion != mine.ResourceVersion {
		t.Errorf("the user's template was written to: %v", same)
	}
	if err := typed.ResourceV1().ResourceClaimTemplates(ns[0]).Delete(t.Context(), "taken",
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, "taken", "2/2/0 InStep")
}

// TestReplaceBetweenPods pauses the controller between the deletion of a copy and the creation of
// the next one: a pod that is created meanwhile is not rejected, and gets a claim of the new
// content as soon as there is a copy; existing claims remain.
func TestReplaceBetweenPods(t *testing.T) {
	w := start(t, templatesync.Options{})
	ns := newNamespaces(t, 1)[0]
	newOriginal(t, "replaced", "old.example.com")
	newPod(t, ns, "before", "replaced")
	before := claimOf(t, ns, "before")
	release := w.holdCreations(ns)
	changeClass(t, "replaced", "new.example.com")
	eventually(t, "the copy is deleted", func() bool { return classOf(t, ns, "replaced") == "" })
	newPod(t, ns, "between", "replaced")
	release()
	if between := claimOf(t, ns, "between"); between.Spec.Devices.Requests[0].Exactly.DeviceClassName != "new.example.com" {
		t.Errorf("the claim is %v", between.Spec)
	}
	if after := claimOf(t, ns, "before"); cmp.Diff(before.Spec, after.Spec) != "" || before.UID != after.UID {
		t.Errorf("the claim from before is now %v", after)
	}
}

// TestRefusedContentReplacesNothing checks content that the definition cannot validate, and that
// the server rejects.
func TestRefusedContentReplacesNothing(t *testing.T) {
	start(t, templatesync.Options{})
	ns := newNamespaces(t, 2)
	newOriginal(t, "refused", "gpu.example.com")
	awaitStatus(t, "refused", "2/2/0 InStep")
	bad := spec("gpu.example.com")
	bad.Devices.Requests[0].Exactly.Selectors = []resourcev1.DeviceSelector{
		{CEL: &resourcev1.CELDeviceSelector{Expression: "nonsense("}},
	}
	change(t, "refused", map[string]any{"spec": bad})
	awaitStatus(t, "refused", "2/0/0 Refused")
	if classOf(t, ns[0], "refused") == "" || classOf(t, ns[1], "refused") == "" {
		t.Error("a copy is gone")
	}
	changeClass(t, "refused", "gpu.example.com")
	change(t, "refused", map[string]any{"spec": map[string]any{"devices": spec("good.example.com").Devices}})
	awaitStatus(t, "refused", "2/2/0 InStep")
}

// TestDrift checks that changes of copies by users are reverted, and that the garbage collector
// removes the copies with the original.
func TestDrift(t *testing.T) {
	start(t, templatesync.Options{})
	ns := newNamespaces(t, 1)[0]
	copies := typed.ResourceV1().ResourceClaimTemplates(ns)
	newOriginal(t, "drift", "gpu.example.com")
	awaitStatus(t, "drift", "1/1/0 InStep")

	first := must(copies.Get(t.Context(), "drift", metav1.GetOptions{}))(t)
	patch := fmt.Sprintf(
		`{"metadata":{"labels":{%q:null,"mine":"stays"},"ownerReferences":null,"annotations":{%q:"other"}}}`,
		templatesync.Label, templatesync.UIDAnnotation,
	)
	_, err := copies.Patch(t.Context(), "drift", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a copy without most marks is a user's",
		func() bool { return original(t, "drift").Status.Conflicting == 1 })
	_, err = copies.Patch(t.Context(), "drift", types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, templatesync.UIDAnnotation, original(t, "drift").UID),
		metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "one mark is enough to bring back the others", func() bool {
		c := must(copies.Get(t.Context(), "drift", metav1.GetOptions{}))(t)
		return c.UID == first.UID && c.Labels[templatesync.Label] == "drift" && c.Labels["mine"] == "stays" &&
			len(c.OwnerReferences) == 1
	})

	// kubectl replace --force, with all metadata of the copy but another content
	forged := must(copies.Get(t.Context(), "drift", metav1.GetOptions{}))(t)
	forged.Spec.Spec.Devices.Requests[0].Exactly.Count = 8
	forged.UID, forged.ResourceVersion, forged.ManagedFields = "", "", nil
	if err := copies.Delete(t.Context(), "drift", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := copies.Create(t.Context(), forged, metav1.CreateOptions{FieldManager: "kubectl-replace"}); err != nil &&
		!apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	eventually(t, "the content is right again", func() bool {
		c, err := copies.Get(t.Context(), "drift", metav1.GetOptions{})
		return err == nil && c.Spec.Spec.Devices.Requests[0].Exactly.Count == 1
	})

	if err := objects.Resource(resource).Delete(t.Context(), "drift", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the copy goes with its original", func() bool { return classOf(t, ns, "drift") == "" })
}

// TestTerminatingNamespace checks that nothing is written to a terminating namespace.
func TestTerminatingNamespace(t *testing.T) {
	w := start(t, templatesync.Options{})
	ns := newNamespaces(t, 2)
	newOriginal(t, "ending", "gpu.example.com")
	awaitStatus(t, "ending", "2/2/0 InStep")
	// No namespace controller runs here, so it remains terminating.
	if err := typed.CoreV1().Namespaces().Delete(t.Context(), ns[0], metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, "ending", "1/1/0 InStep")
	changeClass(t, "ending", "new.example.com")
	awaitStatus(t, "ending", "1/1/0 InStep")
	if n := w.count(func(c call) bool { return c.namespace == ns[0] }); n != 1 {
		t.Errorf("%d requests for the namespace that is being deleted, want only the one for its copy before that", n)
	}
}
