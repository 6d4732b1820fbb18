package scenario

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/testkit/line"
)

// namespace handles namespace NAME [label=K=V]….
func (s *Scenario) namespace(l *line.Line) error {
	s.queue.Wake(s.state.Namespaces.Put(l.Name(), pairs(l.All("label"))))
	return nil
}

// service handles service NAME [select=K=V]…, a Service that selects pods.
func (s *Scenario) service(l *line.Line) error {
	service := &corev1.Service{ObjectMeta: s.meta("service", l.Name())}
	service.Spec.Selector = pairs(l.All("select"))
	s.queue.Wake(s.state.Services.Put(model.ServiceFrom(service)))
	return nil
}

// volume handles volume NAME [claim=CLAIM] [match=K=V] [label=K=V]… [driver= [handle=]], a
// PersistentVolume for nodes with the label in match.
func (s *Scenario) volume(l *line.Line) error {
	volume := &corev1.PersistentVolume{ObjectMeta: s.meta("volume", l.Name())}
	volume.Labels = pairs(l.All("label"))
	if l.Has("claim") {
		k := key(l.Text("claim", ""))
		volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: k.Namespace, Name: k.Name}
	}
	if driver := l.Text("driver", ""); driver != "" {
		volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: l.Text("handle", l.Name())}
	}
	if l.Has("match") {
		volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: labelSelector(l.Text("match", ""))}
	}
	s.queue.Wake(s.state.Volumes.Put(model.VolumeFrom(volume)))
	return nil
}

// csiNode handles csinode NAME [DRIVER=COUNT]…, the maximum number of attached volumes of a node.
func (s *Scenario) csiNode(l *line.Line) error {
	node := &storagev1.CSINode{ObjectMeta: s.meta("csinode", l.Name())}
	for _, driver := range l.Keys() {
		count, err := strconv.ParseInt(l.Text(driver, ""), 10, 32)
		if err != nil {
			return fmt.Errorf("csinode %s: %w", l.Name(), err)
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
func (s *Scenario) volumeClaim(l *line.Line) error {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: s.meta("volumeclaim", l.Name())}
	claim.Spec.VolumeName = l.Text("volume", "")
	if l.Has("bound") {
		claim.Status.Phase = corev1.ClaimBound
	}
	if l.Has("once") {
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	}
	if l.Has("of") {
		claim.OwnerReferences = controller("Pod", l.Text("of", ""), s.meta("pod", l.Text("of", "")))
	}
	if l.Has("deleting") {
		claim.DeletionTimestamp = &claim.CreationTimestamp
	}
	s.queue.Wake(s.state.Volumes.PutClaim(model.VolumeClaimFrom(claim)))
	return nil
}

func podVolumes(spec *core.PodSpec, l *line.Line) {
	for _, claim := range l.All("mount") {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: strings.ToLower(claim), VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
	}
	for _, name := range l.All("ephemeral") {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}},
		}})
	}
	for _, name := range l.All("empty") {
		spec.Volumes = append(spec.Volumes,
			corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
}
