package registry

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

func persistentVolumeClaims() entry {
	return &kind[corev1.PersistentVolumeClaim, *corev1.PersistentVolumeClaim]{
		names: names{
			versions: v1,
			plural:   "persistentvolumeclaims",
			singular: "persistentvolumeclaim",
			short:    []string{"pvc"},
		},
		newList:  func() runtime.Object { return &corev1.PersistentVolumeClaimList{} },
		defaults: defaults.PersistentVolumeClaim,
		printer:  printers.PersistentVolumeClaim,
		class:    rbac.ReadWrite,
		spec:     func(c *corev1.PersistentVolumeClaim) any { return &c.Spec },
		status:   func(c *corev1.PersistentVolumeClaim) any { return &c.Status },
		prepareCreate: func(_ context.Context, c *corev1.PersistentVolumeClaim) {
			dropForeignSource(&c.Spec)
			alignSources(&c.Spec)
		},
		prepareUpdate: func(_ context.Context, c, old *corev1.PersistentVolumeClaim) {
			if old.Spec.DataSource == nil {
				dropForeignSource(&c.Spec)
			}
			alignSources(&c.Spec)
		},
		// The field without metadata is for clients from before field selectors.
		fields:         func(c *corev1.PersistentVolumeClaim) fields.Set { return fields.Set{"name": c.Name} },
		validate:       validation.ValidatePersistentVolumeClaim,
		validateUpdate: validation.ValidatePersistentVolumeClaimUpdate,
		validateStatus: validation.ValidatePersistentVolumeClaimStatusUpdate,
	}
}

// dropForeignSource removes a data source of a kind that only dataSourceRef supports, which has
// always been ignored.
func dropForeignSource(spec *corev1.PersistentVolumeClaimSpec) {
	source := spec.DataSource
	if source == nil || spec.DataSourceRef != nil {
		return
	}
	group := ""
	if source.APIGroup != nil {
		group = *source.APIGroup
	}
	claim := group == "" && source.Kind == "PersistentVolumeClaim"
	snapshot := group == "snapshot.storage.k8s.io" && source.Kind == "VolumeSnapshot"
	if !claim && !snapshot {
		spec.DataSource = nil
	}
}

// alignSources copies dataSource and dataSourceRef to each other for clients that know only one of
// them.
func alignSources(spec *corev1.PersistentVolumeClaimSpec) {
	ref, source := spec.DataSourceRef, spec.DataSource
	switch {
	case source != nil && ref == nil:
		spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: source.APIGroup, Kind: source.Kind, Name: source.Name}
	case source == nil && ref != nil && (ref.Namespace == nil || *ref.Namespace == ""):
		spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: ref.APIGroup, Kind: ref.Kind, Name: ref.Name}
	}
}

// persistentVolumes has a clock for the time of phase changes.
func persistentVolumes(now func() time.Time) entry {
	stamp := func() *metav1.Time { return &metav1.Time{Time: now().Truncate(time.Second)} }
	return &kind[corev1.PersistentVolume, *corev1.PersistentVolume]{
		names: names{
			versions: v1, plural: "persistentvolumes", singular: "persistentvolume", short: []string{"pv"}, cluster: true,
		},
		newList:  func() runtime.Object { return &corev1.PersistentVolumeList{} },
		defaults: defaults.PersistentVolume,
		printer:  printers.PersistentVolume,
		class:    rbac.Cluster,
		spec:     func(v *corev1.PersistentVolume) any { return &v.Spec },
		status:   func(v *corev1.PersistentVolume) any { return &v.Status },
		prepareCreate: func(_ context.Context, v *corev1.PersistentVolume) {
			v.Status.Phase, v.Status.LastPhaseTransitionTime = corev1.VolumePending, stamp()
		},
		prepareStatus: func(v, old *corev1.PersistentVolume) {
			at := &v.Status.LastPhaseTransitionTime
			switch {
			case v.Status.Phase == old.Status.Phase && *at == nil:
				*at = old.Status.LastPhaseTransitionTime
			case v.Status.Phase != old.Status.Phase && (*at == nil || (*at).Equal(old.Status.LastPhaseTransitionTime)):
				*at = stamp()
			}
		},
		fields:         func(v *corev1.PersistentVolume) fields.Set { return fields.Set{"name": v.Name} },
		validate:       validation.ValidatePersistentVolume,
		validateUpdate: validation.ValidatePersistentVolumeUpdate,
		validateStatus: validation.ValidatePersistentVolumeStatusUpdate,
	}
}
