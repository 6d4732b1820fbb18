package registry

import (
	"bytes"
	"slices"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// setManagedFields sets the managed fields of a claim that is created with its status, as they would
// be if the manager had created it and then updated its status. They follow from which fields a
// claim has: walking the object, as the handlers do, takes several times as long.
func setManagedFields(claim *resource.ResourceClaim, manager string, now time.Time) {
	claim.ManagedFields = nil
	created, allocated := fieldpath.NewSet(createdPaths(claim)...), fieldpath.NewSet(allocatedPaths(claim)...)
	claim.ManagedFields = []metav1.ManagedFieldsEntry{
		managedEntry(manager, "", created, now), managedEntry(manager, "status", allocated, now),
	}
}

func managedEntry(manager, subresource string, fields *fieldpath.Set, now time.Time) metav1.ManagedFieldsEntry {
	at := metav1.NewTime(now.Truncate(time.Second))
	var raw bytes.Buffer
	if err := fields.ToJSONStream(&raw); err != nil {
		panic(err) // all paths are made here
	}
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: subresource,
		APIVersion: resourcev1.SchemeGroupVersion.String(), Time: &at, FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(raw.String()),
	}
}

// fieldPaths collects the paths of fields that an object has.
type fieldPaths []fieldpath.Path

// add adds a path if its field is present.
func (p *fieldPaths) add(present bool, parts ...any) {
	if present {
		*p = append(*p, fieldpath.MakePathOrDie(parts...))
	}
}

// createdPaths returns the fields that the creation of the claim sets.
func createdPaths(claim *resource.ResourceClaim) []fieldpath.Path {
	var paths fieldPaths
	paths.add(claim.GenerateName != "", "metadata", "generateName")
	paths.addMap("labels", claim.Labels)
	paths.addMap("annotations", claim.Annotations)
	paths.add(len(claim.Finalizers) > 0, "metadata", "finalizers")
	for _, finalizer := range claim.Finalizers {
		paths.add(true, "metadata", "finalizers", value.NewValueInterface(finalizer))
	}
	paths.add(len(claim.OwnerReferences) > 0, "metadata", "ownerReferences")
	for i := range claim.OwnerReferences {
		paths.add(true, "metadata", "ownerReferences", fieldpath.KeyByFields("uid", string(claim.OwnerReferences[i].UID)))
	}
	devices := &claim.Spec.Devices
	paths.add(len(devices.Requests) > 0, "spec", "devices", "requests")
	paths.add(len(devices.Constraints) > 0, "spec", "devices", "constraints")
	paths.add(len(devices.Config) > 0, "spec", "devices", "config")
	paths.addConsumer(claim.Spec.ReservedFor, "spec", "reservedFor")
	return paths
}

// allocatedPaths returns the fields that the update of the claim's status sets.
func allocatedPaths(claim *resource.ResourceClaim) []fieldpath.Path {
	var paths fieldPaths
	if a := claim.Status.Allocation; a != nil {
		paths.add(true, "status", "allocation")
		paths.add(true, "status", "allocation", "devices")
		paths.add(len(a.Devices.Results) > 0, "status", "allocation", "devices", "results")
		paths.add(len(a.Devices.Config) > 0, "status", "allocation", "devices", "config")
		paths.add(a.NodeSelector != nil, "status", "allocation", "nodeSelector")
		paths.add(a.AllocationTimestamp != nil, "status", "allocation", "allocationTimestamp")
		paths.add(a.ReservedForAnyPod != nil, "status", "allocation", "reservedForAnyPod")
	}
	paths.add(len(claim.Status.ReservedFor) > 0, "status", "reservedFor")
	for i := range claim.Status.ReservedFor {
		consumer := &claim.Status.ReservedFor[i]
		paths.addConsumer(consumer, "status", "reservedFor", fieldpath.KeyByFields("uid", string(consumer.UID)))
	}
	return paths
}

// addMap adds a map of the metadata and its keys.
func (p *fieldPaths) addMap(name string, values map[string]string) {
	p.add(len(values) > 0, "metadata", name)
	for key := range values {
		p.add(true, "metadata", name, key)
	}
}

// addConsumer adds a reference to a consumer and its fields.
func (p *fieldPaths) addConsumer(ref *resourcev1.ResourceClaimConsumerReference, at ...any) {
	if ref == nil {
		return
	}
	p.add(true, at...)
	at = slices.Clip(at)
	p.add(ref.APIGroup != "", append(at, "apiGroup")...)
	p.add(true, append(at, "resource")...)
	p.add(true, append(at, "name")...)
	p.add(true, append(at, "uid")...)
}
