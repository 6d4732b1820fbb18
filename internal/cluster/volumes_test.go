package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/model"
)

// Volumes and claims are added to the State and removed from it, and each change returns the units
// that it may help.
func TestVolumesAreFollowed(t *testing.T) {
	s := model.NewState()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data", UID: "1"}}
	claim.Spec.VolumeName = "pv"
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv", UID: "2"}}
	volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "ns", Name: "data"}

	count := int32(3)
	limits := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "3"}}
	limits.Spec.Drivers = []storagev1.CSINodeDriver{
		{Name: "d", Allocatable: &storagev1.VolumeNodeResources{Count: &count}},
		{Name: "any"},
	}

	key := model.Key{Namespace: "ns", Name: "data"}
	ofClaim, ofVolume := model.Topic{
		Kind: model.TopicVolumeClaim,
		Key:  key,
	}, model.Topic{
		Kind: model.TopicVolume,
		Key:  model.Key{Name: "pv"},
	}
	for _, step := range []struct {
		what   string
		change change
		want   []model.Topic
	}{
		{"claim comes", volumeClaimChange(nil, claim), []model.Topic{ofClaim}},
		{"volume comes", volumeChange(nil, volume), []model.Topic{ofVolume}},
		{"nothing changes", volumeClaimChange(claim, claim.DeepCopy()), nil},
		{"volume goes", volumeChange(volume, nil), []model.Topic{ofVolume}},
		{"limits come", csiNodeChange(nil, limits), []model.Topic{{Kind: model.TopicNodes}}},
		{"limits stay", csiNodeChange(limits, limits.DeepCopy()), nil},
		{"limits go", csiNodeChange(limits, nil), []model.Topic{{Kind: model.TopicNodes}}},
		{"claim goes", volumeClaimChange(claim, nil), []model.Topic{ofClaim}},
	} {
		if diff := cmp.Diff(step.want, step.change(s)); diff != "" {
			t.Errorf("%s: %s", step.what, diff)
		}
		found, ok := s.Volumes.Get("pv")
		if ok && found.Claim != key {
			t.Errorf("%s: the volume is for %s", step.what, found.Claim)
		}
	}
	if _, ok := s.Volumes.Claim(key); ok {
		t.Error("the claim is still there")
	}
}
