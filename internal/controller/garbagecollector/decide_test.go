package garbagecollector

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestDecide(t *testing.T) {
	waiting := &Object{Deleting: true, Finalizers: []string{metav1.FinalizerDeleteDependents}}
	plain := &Object{}
	for _, tc := range []struct {
		name       string
		finalizers []string
		owners     string // one letter an owner: s, w, a, u (unseen), k (unknown kind)
		dependents []*Object
		want       Action
	}{
		{name: "no owners", owners: ""},
		{name: "solid", owners: "ss"},
		{name: "solid and absent", owners: "sa", want: Action{Drop: []types.UID{"1"}}},
		{name: "solid, waiting and absent", owners: "wsa", want: Action{Drop: []types.UID{"2", "0"}}},
		{name: "absent", owners: "aa", want: Action{Delete: metav1.DeletePropagationBackground}},
		{name: "absent, dependents", owners: "a", dependents: []*Object{plain},
			want: Action{Delete: metav1.DeletePropagationBackground}},
		{name: "waiting", owners: "wa", want: Action{Delete: metav1.DeletePropagationBackground}},
		{name: "waiting, dependents", owners: "w", dependents: []*Object{plain},
			want: Action{Delete: metav1.DeletePropagationForeground}},
		{name: "waiting, circle", owners: "w", dependents: []*Object{plain, waiting},
			want: Action{Delete: metav1.DeletePropagationForeground, Unblock: true}},
		{name: "one unknown", owners: "ak"},
		{name: "one unseen", owners: "sau"},
		{name: "orphan finalizer", owners: "a", finalizers: []string{"x", "orphan"},
			want: Action{Delete: metav1.DeletePropagationOrphan}},
		{name: "foreground finalizer", owners: "a", finalizers: []string{"foregroundDeletion"},
			want: Action{Delete: metav1.DeletePropagationForeground}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			states := map[rune]OwnerState{'s': Solid, 'w': Waiting, 'a': Absent, 'u': Unseen, 'k': Unknown}
			var owners []Owner
			for i, letter := range tc.owners {
				owners = append(owners, Owner{Ref: metav1.OwnerReference{UID: types.UID(rune('0' + i))}, State: states[letter]})
			}
			got := Decide(&Object{Finalizers: tc.finalizers}, owners, tc.dependents)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("action (-want +got):\n%s", diff)
			}
		})
	}
}
