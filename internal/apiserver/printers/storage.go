package printers

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// StorageClass returns the printer of StorageClasses. A list shows which one is the default.
func StorageClass() Printer {
	doc := storagev1.StorageClass{}
	p := typed([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Provisioner", "string", doc, "provisioner"),
		column("ReclaimPolicy", "string", doc, "reclaimPolicy"),
		column("VolumeBindingMode", "string", doc, "volumeBindingMode"),
		column("AllowVolumeExpansion", "string", doc, "allowVolumeExpansion"),
		ageColumn(),
	}, func(c *storagev1.StorageClass, now time.Time) []any {
		return []any{
			c.Name, c.Provisioner, string(ptr.Deref(c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)),
			string(ptr.Deref(c.VolumeBindingMode, storagev1.VolumeBindingImmediate)),
			ptr.Deref(c.AllowVolumeExpansion, false), age(c.CreationTimestamp, now),
		}
	})
	p.listed = func(list runtime.Object, rows []metav1.TableRow) {
		classes, ok := list.(*storagev1.StorageClassList)
		if !ok {
			return
		}
		if i := defaultClass(classes.Items); i >= 0 {
			rows[i].Cells[0] = classes.Items[i].Name + " (default)"
		}
	}
	return p
}

// defaultClass returns the index of the default StorageClass, or -1: of several, the newest, or the
// first by name.
func defaultClass(classes []storagev1.StorageClass) int {
	found := -1
	for i := range classes {
		c := &classes[i]
		if c.Annotations["storageclass.kubernetes.io/is-default-class"] != "true" &&
			c.Annotations["storageclass.beta.kubernetes.io/is-default-class"] != "true" {
			continue
		}
		if found < 0 || cmp.Or(classes[found].CreationTimestamp.Compare(c.CreationTimestamp.Time),
			strings.Compare(c.Name, classes[found].Name)) < 0 {
			found = i
		}
	}
	return found
}

// VolumeAttachment returns the printer of VolumeAttachments.
func VolumeAttachment() Printer {
	spec := storagev1.VolumeAttachmentSpec{}
	attacher := column("Attacher", "string", spec, "attacher")
	attacher.Format = "name"
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		attacher,
		column("PV", "string", storagev1.VolumeAttachmentSource{}, "persistentVolumeName"),
		column("Node", "string", spec, "nodeName"),
		column("Attached", "boolean", storagev1.VolumeAttachmentStatus{}, "attached"),
		ageColumn(),
	}, func(a *storagev1.VolumeAttachment, now time.Time) []any {
		return []any{
			a.Name, a.Spec.Attacher, ptr.Deref(a.Spec.Source.PersistentVolumeName, ""), a.Spec.NodeName, a.Status.Attached,
			age(a.CreationTimestamp, now),
		}
	})
}

// CSIDriver returns the printer of CSIDrivers.
func CSIDriver() Printer {
	spec := storagev1.CSIDriverSpec{}
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		column("AttachRequired", "boolean", spec, "attachRequired"),
		column("PodInfoOnMount", "boolean", spec, "podInfoOnMount"),
		column("StorageCapacity", "boolean", spec, "storageCapacity"),
		column("TokenRequests", "string", spec, "tokenRequests"),
		column("RequiresRepublish", "boolean", spec, "requiresRepublish"),
		column("Modes", "string", spec, "volumeLifecycleModes"),
		ageColumn(),
	}, func(d *storagev1.CSIDriver, now time.Time) []any {
		modes := "<none>"
		if len(d.Spec.VolumeLifecycleModes) > 0 {
			var all []string
			for _, mode := range d.Spec.VolumeLifecycleModes {
				all = append(all, string(mode))
			}
			modes = strings.Join(all, ",")
		}
		return []any{
			d.Name, ptr.Deref(d.Spec.AttachRequired, true), ptr.Deref(d.Spec.PodInfoOnMount, false),
			ptr.Deref(d.Spec.StorageCapacity, false), tokenAudiences(d.Spec.TokenRequests),
			ptr.Deref(d.Spec.RequiresRepublish, false), modes, age(d.CreationTimestamp, now),
		}
	})
}

func tokenAudiences(requests []storagev1.TokenRequest) string {
	if requests == nil {
		return unset
	}
	var all []string
	for _, r := range requests {
		all = append(all, r.Audience)
	}
	return strings.Join(all, ",")
}

// CSINode returns the printer of CSINodes.
func CSINode() Printer {
	return typed([]metav1.TableColumnDefinition{
		nameColumn(), computedColumn("Drivers", "integer", "The number of CSI drivers on the node."), ageColumn(),
	}, func(n *storagev1.CSINode, now time.Time) []any {
		return []any{n.Name, int64(len(n.Spec.Drivers)), age(n.CreationTimestamp, now)}
	})
}

// CSIStorageCapacity returns the printer of CSIStorageCapacities.
func CSIStorageCapacity() Printer {
	doc := storagev1.CSIStorageCapacity{}
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		column("StorageClassName", "string", doc, "storageClassName"),
		column("Capacity", "string", doc, "capacity"),
	}, func(c *storagev1.CSIStorageCapacity, _ time.Time) []any {
		capacity := unset
		if c.Capacity != nil {
			capacity = c.Capacity.String()
		}
		return []any{c.Name, c.StorageClassName, capacity}
	})
}

// RuntimeClass returns the printer of RuntimeClasses.
func RuntimeClass() Printer {
	return typed([]metav1.TableColumnDefinition{
		nameColumn(), column("Handler", "string", nodev1.RuntimeClass{}, "handler"), ageColumn(),
	}, func(c *nodev1.RuntimeClass, now time.Time) []any {
		return []any{c.Name, c.Handler, age(c.CreationTimestamp, now)}
	})
}
