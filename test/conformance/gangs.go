package conformance

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// base returns the part of a pod's name before the number.
func base(name string) string {
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		return name[:i]
	}
	return name
}

// gangIsWhole: R31. Six of eight devices are in use, so that two of four members could run; none
// runs until all can.
func gangIsWhole(t *testing.T, s *suite) {
	n := s.newSpace(t)
	n.makePods(t, 6, pod{Name: "holder", Own: gpus})
	n.waitPods(t, "holder", corev1.PodRunning, 6)
	n.makeGroup(t, group{Name: "gang", MinCount: 4})
	n.makePods(t, 4, pod{Name: "member", Group: "gang", Own: gpus})
	n.waitCondition(t, "gang", "False")
	n.checkNoneBound(t, "member")
	n.checkNoneHoldsDevices(t, "member")
	n.deletePods(t, 2, "holder")
	n.waitPods(t, "member", corev1.PodRunning, 4)
	n.waitCondition(t, "gang", "True")
}

// checkNoneHoldsDevices: no pod with this name holds a device.
func (s space) checkNoneHoldsDevices(t *testing.T, name string) {
	t.Helper()
	claims, err := s.clients.ResourceV1().ResourceClaims(s.name).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range claims.Items {
		c := &claims.Items[i]
		if owner := metav1.GetControllerOf(c); owner != nil && base(owner.Name) == name && c.Status.Allocation != nil {
			t.Errorf("claim %s of %s is allocated", c.Name, owner.Name)
		}
	}
}

// waitCondition waits until a PodGroup's condition has a status. The condition has two names.
func (s space) waitCondition(t *testing.T, name, status string) {
	t.Helper()
	s.eventually(t, func(ctx context.Context) string {
		obj, err := s.dynamic.Resource(s.suite.groups).Namespace(s.name).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		fields, _ := obj.Object["status"].(map[string]any)
		list, _ := fields["conditions"].([]any)
		for _, c := range list {
			condition, _ := c.(map[string]any)
			if kind := condition["type"]; kind != "PodGroupScheduled" && kind != "PodGroupInitiallyScheduled" {
				continue
			}
			if condition["status"] == status {
				return ""
			}
		}
		return fmt.Sprintf("PodGroup %s has the conditions %v, want %s", name, list, status)
	})
}

// gangWaitsForItsPods: R31.
func gangWaitsForItsPods(t *testing.T, s *suite) {
	n := s.newSpace(t)
	n.makeGroup(t, group{Name: "gang", MinCount: 4, Template: gpus})
	n.makePods(t, 3, pod{Name: "member", Group: "gang", Shares: gpus})
	n.checkNoneBound(t, "member")
	n.makePods(t, 1, pod{Name: "last", Group: "gang", Shares: gpus})
	n.waitPods(t, "member", corev1.PodRunning, 3)
	n.waitPods(t, "last", corev1.PodRunning, 1)
}

// podsWaitForTheirGroup: R30.
func podsWaitForTheirGroup(t *testing.T, s *suite) {
	n := s.newSpace(t)
	n.makePods(t, 2, pod{Name: "member", Group: "late", Shares: gpus})
	n.checkNoneBound(t, "member")
	n.makeGroup(t, group{Name: "late", Template: gpus})
	n.waitPods(t, "member", corev1.PodRunning, 2)
}

// schedulerSurvivesKills: R18, R50. Gangs are created while the scheduler is killed and restarted: each is
// complete in the end, and (as after all statements) no device was allocated to two claims.
func schedulerSurvivesKills(t *testing.T, s *suite) {
	if s.Restart == nil {
		t.Skip("the scheduler is in the server's process here; test/script kills it")
	}
	n := s.newSpace(t)
	const gangs = 2
	for i := range gangs {
		name := fmt.Sprintf("gang%d", i)
		n.makeGroup(t, group{Name: name, MinCount: 4})
		n.makePods(t, 4, pod{Name: name, Group: name, Own: gpus})
		if i == 0 {
			s.Restart(t)
		}
	}
	for i := range gangs {
		n.waitPods(t, fmt.Sprintf("gang%d", i), corev1.PodRunning, 4)
	}
	claims, err := n.clients.ResourceV1().ResourceClaims(n.name).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(claims.Items) != 4*gangs {
		t.Errorf("there are %d claims, want %d", len(claims.Items), 4*gangs)
	}
}
