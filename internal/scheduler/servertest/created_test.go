package servertest

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// The claims of pods that can be placed are created with their devices. The claim of one that must
// wait is created without, and gets the device that comes free.
func TestClaimsAreCreatedWithTheirDevices(t *testing.T) {
	const driver, devices = "created.example.com", 3
	ns := namespace(t)
	addNode(t, "created", driver, devices)
	addClass(t, driver)
	claims := &resource.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "one"}}
	claims.Spec.Spec = claimSpec(driver)
	if _, err := set.ResourceClaimTemplates(ns).Create(t.Context(), claims, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	before, err := set.ResourceClaims(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watch, err := set.ResourceClaims(ns).Watch(t.Context(), metav1.ListOptions{ResourceVersion: before.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for i := range devices + 1 {
		p := pod(ns, fmt.Sprint("p-", i), corev1.DefaultSchedulerName, template("one"))
		if _, err := set.Pods(ns).Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	next := func() (event string, allocated bool) {
		select {
		case e := <-watch.ResultChan():
			return string(e.Type), e.Object.(*resource.ResourceClaim).Status.Allocation != nil
		case <-time.After(patience):
			t.Fatal("no event of a claim")
		}
		return "", false
	}
	waiting := 0
	for range devices + 1 {
		event, allocated := next()
		if event != "ADDED" {
			t.Errorf("the event of a claim is %s", event)
		}
		if !allocated {
			waiting++
		}
	}
	if waiting != 1 {
		t.Errorf("%d claims were created without devices, want 1", waiting)
	}
	bound := func() (names []string) {
		list, err := set.Pods(ns).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			if list.Items[i].Spec.NodeName != "" {
				names = append(names, list.Items[i].Name)
			}
		}
		return names
	}
	eventually(t, "all but one pod are bound", func() bool { return len(bound()) == devices })
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	if err := set.Pods(ns).Delete(t.Context(), bound()[0], now); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod that waited is bound", func() bool { return len(bound()) == devices })
}
