package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/model"
)

// namespace handles namespace NAME [label=K=V]….
func (s *Scenario) namespace(l *line) error {
	s.queue.Wake(s.state.Namespaces.Put(l.name, pairs(l.args["label"])))
	return nil
}

// service handles service NAME [select=K=V]…, a Service that selects pods.
func (s *Scenario) service(l *line) error {
	service := &corev1.Service{ObjectMeta: s.meta("service", l.name)}
	service.Spec.Selector = pairs(l.args["select"])
	s.queue.Wake(s.state.Services.Put(model.ServiceFrom(service)))
	return nil
}

// volume handles volume NAME [claim=CLAIM] [match=K=V] [label=K=V]… [driver= [handle=]], a
// PersistentVolume for nodes with the label in match.
func (s *Scenario) volume(l *line) error {
	volume := &corev1.PersistentVolume{ObjectMeta: s.meta("volume", l.name)}
	volume.Labels = pairs(l.args["label"])
	if l.has("claim") {
		k := key(l.one("claim", ""))
		volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: k.Namespace, Name: k.Name}
	}
	if driver := l.one("driver", ""); driver != "" {
		volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: l.one("handle", l.name)}
	}
	if l.has("match") {
		volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: labelSelector(l.one("match", ""))}
	}
	s.queue.Wake(s.state.Volumes.Put(model.VolumeFrom(volume)))
	return nil
}

// csiNode handles csinode NAME [DRIVER=COUNT]…, the maximum number of attached volumes of a node.
func (s *Scenario) csiNode(l *line) error {
	node := &storagev1.CSINode{ObjectMeta: s.meta("csinode", l.name)}
	for _, driver := range slices.Sorted(maps.Keys(l.args)) {
		count, err := strconv.ParseInt(l.one(driver, ""), 10, 32)
		if err != nil {
			return fmt.Errorf("csinode %s: %w", l.name, err)
		}
		limit := int32(count)
		node.Spec.Drivers = append(node.Spec.Drivers,
			storagev1.CSINodeDriver{Name: driver, Allocatable: &storagev1.VolumeNodeResources{Count: &limit}})
	}
	s.queue.Wake(s.state.Volumes.PutLimits(model.VolumeLimitsFrom(node)))
	return nil
}

// volumeClaim handles volumeclaim NAME [volume=] [bound] [once] [of=POD] [deleting], a
// PersistentVolumeClaim.
func (s *Scenario) volumeClaim(l *line) error {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: s.meta("volumeclaim", l.name)}
	claim.Spec.VolumeName = l.one("volume", "")
	if l.has("bound") {
		claim.Status.Phase = corev1.ClaimBound
	}
	if l.has("once") {
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	}
	if l.has("of") {
		claim.OwnerReferences = controller("Pod", l.one("of", ""), s.meta("pod", l.one("of", "")))
	}
	if l.has("deleting") {
		claim.DeletionTimestamp = &claim.CreationTimestamp
	}
	s.queue.Wake(s.state.Volumes.PutClaim(model.VolumeClaimFrom(claim)))
	return nil
}

func podVolumes(spec *core.PodSpec, l *line) {
	for _, claim := range l.args["mount"] {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: strings.ToLower(claim), VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
	}
	for _, name := range l.args["ephemeral"] {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}},
		}})
	}
	for _, name := range l.args["empty"] {
		spec.Volumes = append(spec.Volumes,
			corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
}
