package ownership

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

var kind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}

func object(name string, label string, owners ...metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": label}, OwnerReferences: owners,
	}}
}

func owner(uid types.UID, controller bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: uid, Controller: &controller}
}

func names(pods []*corev1.Pod) []string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

func TestSort(t *testing.T) {
	now := metav1.NewTime(time.Unix(1000, 0))
	dying := object("dying-orphan", "web")
	dying.DeletionTimestamp = &now
	dyingOwned := object("dying-owned", "web", owner("me", true))
	dyingOwned.DeletionTimestamp = &now
	pods := []*corev1.Pod{
		object("mine", "web", owner("me", true)),
		object("mine-relabelled", "db", owner("me", true)),
		object("theirs", "web", owner("other", true)),
		object("orphan", "web"),
		object("plain-owner-only", "web", owner("me", false)),
		object("orphan-elsewhere", "db"),
		dying, dyingOwned,
	}
	for _, tc := range []struct {
		name     string
		deleting bool
		want     map[string][]string
	}{
		{"alive", false, map[string][]string{
			"owned":   {"mine", "dying-owned"},
			"adopt":   {"orphan", "plain-owner-only"},
			"release": {"mine-relabelled"},
		}},
		{"being deleted", true, map[string][]string{
			"owned": {"mine", "dying-owned"}, "adopt": nil, "release": nil,
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			controller := &metav1.ObjectMeta{Name: "rs", UID: "me"}
			if tc.deleting {
				controller.DeletionTimestamp = &now
			}
			claim := Sort(controller, labels.SelectorFromSet(labels.Set{"app": "web"}), pods)
			got := map[string][]string{"owned": names(claim.Owned), "adopt": names(claim.Adopt), "release": names(claim.Release)}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("claim (-want +got):\n%s", diff)
			}
		})
	}
}

// apply applies a strategic merge patch as the API server does.
func apply(t *testing.T, pod *corev1.Pod, patch []byte) *corev1.Pod {
	t.Helper()
	before, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, &corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	var out corev1.Pod
	if err := json.Unmarshal(after, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

func TestPatches(t *testing.T) {
	controller := &metav1.ObjectMeta{Name: "rs", UID: "me"}
	other := owner("other", false)
	pod := object("orphan", "web", other)

	adopt, err := AdoptPatch(controller, kind, pod)
	if err != nil {
		t.Fatal(err)
	}
	adopted := apply(t, pod, adopt)
	want := []metav1.OwnerReference{*metav1.NewControllerRef(controller, kind), other}
	if diff := cmp.Diff(want, adopted.OwnerReferences); diff != "" {
		t.Errorf("adopted (-want +got):\n%s", diff)
	}

	held := pod.DeepCopy()
	held.Finalizers = []string{"others/own"}
	adopt, err = AdoptPatch(controller, kind, held, "mine/own")
	if err != nil {
		t.Fatal(err)
	}
	got := apply(t, held, adopt).Finalizers
	slices.Sort(got)
	if diff := cmp.Diff([]string{"mine/own", "others/own"}, got); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}

	release, err := ReleasePatch(controller, pod)
	if err != nil {
		t.Fatal(err)
	}
	released := apply(t, adopted, release)
	if diff := cmp.Diff([]metav1.OwnerReference{other}, released.OwnerReferences); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}

	namesake := object("orphan", "web")
	namesake.UID = "replaced"
	if got := apply(t, namesake, adopt).UID; got != pod.UID {
		t.Errorf("patch carries uid %q, want %q so that the server refuses it", got, pod.UID)
	}
}
