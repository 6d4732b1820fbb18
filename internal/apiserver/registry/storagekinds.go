package registry

import (
	"context"

	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// storageKinds are the kinds of storage.k8s.io. The scheduler reads CSINodes; the others are only
// stored: nothing in allot provisions or attaches volumes.
func storageKinds() []entry {
	return append(csiKinds(),
		&kind[storagev1.StorageClass, *storagev1.StorageClass]{
			names:    storageNames("storageclasses", "storageclass", "sc"),
			newList:  func() runtime.Object { return &storagev1.StorageClassList{} },
			defaults: defaults.StorageClass,
			printer:  printers.StorageClass,
			class:    rbac.Cluster,

			validate:       validation.ValidateStorageClass,
			validateUpdate: validation.ValidateStorageClassUpdate,
			warnings:       validation.StorageClassWarnings,
		},
		&kind[storagev1.VolumeAttachment, *storagev1.VolumeAttachment]{
			names:        storageNames("volumeattachments", "volumeattachment"),
			newList:      func() runtime.Object { return &storagev1.VolumeAttachmentList{} },
			defaults:     defaults.VolumeAttachment,
			printer:      printers.VolumeAttachment,
			class:        rbac.Cluster,
			spec:         func(a *storagev1.VolumeAttachment) any { return &a.Spec },
			status:       func(a *storagev1.VolumeAttachment) any { return &a.Status },
			statusOnly:   true,
			needsVersion: true,

			validate:       validation.ValidateVolumeAttachment,
			validateUpdate: validation.ValidateVolumeAttachmentUpdate,
			validateStatus: validation.ValidateVolumeAttachmentUpdate,
		},
	)
}

// csiKinds describe CSI drivers, and what they offer where.
func csiKinds() []entry {
	capacities := storageNames("csistoragecapacities", "csistoragecapacity")
	capacities.cluster = false
	return []entry{
		&kind[storagev1.CSIDriver, *storagev1.CSIDriver]{
			names:        storageNames("csidrivers", "csidriver"),
			newList:      func() runtime.Object { return &storagev1.CSIDriverList{} },
			defaults:     defaults.CSIDriver,
			printer:      printers.CSIDriver,
			class:        rbac.Cluster,
			needsVersion: true,

			// Kubernetes counts changes of the spec, and begins with the number of the client.
			prepareUpdate: func(_ context.Context, d, old *storagev1.CSIDriver) {
				if !apiequality.Semantic.DeepEqual(d.Spec, old.Spec) {
					d.Generation = old.Generation + 1
				}
			},
			validate:       validation.ValidateCSIDriver,
			validateUpdate: validation.ValidateCSIDriverUpdate,
			warnings:       validation.CSIDriverWarnings,
		},
		&kind[storagev1.CSINode, *storagev1.CSINode]{
			names:        storageNames("csinodes", "csinode"),
			newList:      func() runtime.Object { return &storagev1.CSINodeList{} },
			defaults:     noDefaults[*storagev1.CSINode],
			printer:      printers.CSINode,
			class:        rbac.Cluster,
			spec:         func(n *storagev1.CSINode) any { return &n.Spec },
			status:       func(n *storagev1.CSINode) any { return &n.Status },
			statusOnly:   true,
			needsVersion: true,

			validate:       validation.ValidateCSINode,
			validateUpdate: validation.ValidateCSINodeUpdate,
			validateStatus: validation.ValidateCSINodeStatusUpdate,
		},
		&kind[storagev1.CSIStorageCapacity, *storagev1.CSIStorageCapacity]{
			names:        capacities,
			newList:      func() runtime.Object { return &storagev1.CSIStorageCapacityList{} },
			defaults:     noDefaults[*storagev1.CSIStorageCapacity],
			printer:      printers.CSIStorageCapacity,
			class:        rbac.Cluster,
			needsVersion: true,

			validate:       validation.ValidateCSIStorageCapacity,
			validateUpdate: validation.ValidateCSIStorageCapacityUpdate,
			warnings:       validation.CSIStorageCapacityWarnings,
		},
	}
}

// storageNames returns the names of a kind of storage.k8s.io that has no namespace.
func storageNames(plural, singular string, short ...string) names {
	return names{
		group: storagev1.GroupName, versions: v1, plural: plural, singular: singular, short: short, cluster: true,
	}
}
