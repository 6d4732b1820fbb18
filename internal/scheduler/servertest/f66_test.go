package servertest

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// F66: class, slice, the right selector and what the request selects by come late, one after the
// other. At each stage the pod says what is missing, and it is bound soon after the last missing
// piece has come; so is the next pod when a claim that holds the device is deleted.
// TestF66BoundWithinASecond of the scheduler has a clock that slow machines do not slow down.
func TestF66LatePieces(t *testing.T) {
	ns := namespace(t)
	const driver = "f66.example.com"
	addClaim(t, ns, "c", driver, `"model" in device.attributes["`+driver+`"]`)
	p := pod(ns, "p", corev1.DefaultSchedulerName, named("c"))
	p.Spec.NodeSelector = map[string]string{"f66": "yes"}
	if _, err := set.Pods(ns).Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	addNode(t, "f66", "", 0)
	label(t, "f66", "f66", "yes")
	says(t, ns, "p", "device class "+driver+" does not exist")

	class := addClass(t, driver)
	says(t, ns, "p", "1 device wanted, 0 match (there are no devices)")

	class.Spec.Selectors[0].CEL.Expression = `device.driver == "other.example.com"`
	class, err := set.DeviceClasses().Update(t.Context(), class, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	name := "f66"
	addSlice(t, "f66", driver, 1, func(s *resourcev1.ResourceSliceSpec) { s.NodeName = &name })
	says(t, ns, "p", "0 match (class "+driver+` drops 1 of 1: device.driver == "other.example.com")`)

	class.Spec.Selectors[0].CEL.Expression = `device.driver == "` + driver + `"`
	if _, err := set.DeviceClasses().Update(t.Context(), class, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	says(t, ns, "p", `0 match (the request drops 1 of 1: "model" in `)

	slice, err := set.ResourceSlices().Get(t.Context(), "f66."+driver, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	slice.Spec.Devices[0].Attributes = map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
		"model": {StringValue: &name},
	}
	if _, err := set.ResourceSlices().Update(t.Context(), slice, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	boundSoon(t, ns, "p")

	addClaim(t, ns, "d", driver)
	if _, err := set.Pods(ns).Create(t.Context(), pod(ns, "q", corev1.DefaultSchedulerName, named("d")),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	says(t, ns, "q", "1 device wanted")
	remove(t, ns, "p", "c")
	boundSoon(t, ns, "q")
}

func addClaim(t *testing.T, ns, name, class string, selectors ...string) {
	t.Helper()
	claim := &resource.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: claimSpec(class)}
	for _, expression := range selectors {
		exactly := claim.Spec.Devices.Requests[0].Exactly
		exactly.Selectors = append(exactly.Selectors,
			resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: expression}})
	}
	if _, err := set.ResourceClaims(ns).Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func label(t *testing.T, node, key, value string) {
	t.Helper()
	n, err := set.Nodes().Get(t.Context(), node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n.Labels = map[string]string{key: value}
	if _, err := set.Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// remove deletes a pod at once, and its claim.
func remove(t *testing.T, ns, pod, claim string) {
	t.Helper()
	now := int64(0)
	if err := set.Pods(ns).Delete(t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	if err := set.ResourceClaims(ns).Delete(t.Context(), claim, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// says waits until the pod tells that it waits for this.
func says(t *testing.T, ns, name, text string) {
	t.Helper()
	message := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		p, err := set.Pods(ns).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled {
				message = c.Message
			}
		}
		if strings.Contains(message, text) {
			return
		}
	}
	t.Fatalf("pod %s does not say %q, but %q", name, text, message)
}

// boundSoon holds that a pod is bound by what changed, and not by a timer. The aim is a second; the
// limit has room for a machine that does thirty things at once.
func boundSoon(t *testing.T, ns, name string) {
	t.Helper()
	const limit = 30 * time.Second
	start := time.Now()
	eventually(t, "pod "+name+" is bound", func() bool {
		p, err := set.Pods(ns).Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && p.Spec.NodeName != ""
	})
	took := time.Since(start)
	t.Logf("pod %s was bound after %s", name, took)
	if took > limit {
		t.Errorf("that is more than %s", limit)
	}
}
