package validation

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// ValidateResourceClaimStatusUpdate checks an allocation, a reservation, or the status that a
// driver reports. It ensures three invariants: a claim with consumers is allocated; a claim that is
// being deleted gets no new consumers; and an allocation is not changed or removed while there are
// consumers.
func ValidateResourceClaimStatusUpdate(claim, old *resource.ResourceClaim) field.ErrorList {
	path := field.NewPath("status")
	now, before := claim.Status.Upstream(), old.Status.Upstream()
	errs := append(metadataUpdate(&claim.ObjectMeta, &old.ObjectMeta),
		declared(resourcev1.Validate_ResourceClaimStatus, path, &now, &before)...)
	errs = append(errs, reservations(path.Child("reservedFor"), claim, old)...)
	names := requestNames(&claim.Spec.Devices)
	switch allocation := claim.Status.Allocation; {
	case allocation == nil:
	case old.Status.Allocation == nil:
		errs = append(errs, allocationResult(path.Child("allocation"), allocation, names)...)
		errs = append(errs, asAsked(path.Child("allocation"), allocation, &claim.Spec)...)
	default:
		// The generated rules cover the allocation except for allot's own field.
		errs = append(
			errs,
			immutableField(path.Child("allocation", "reservedForAnyPod"), allocation.ReservedForAnyPod,
				old.Status.Allocation.ReservedForAnyPod)...)
	}
	return append(errs, deviceStatuses(path.Child("devices"), &claim.Status)...)
}

func reservations(path *field.Path, claim, old *resource.ResourceClaim) field.ErrorList {
	list := claim.Status.ReservedFor
	errs := eachUpTo(path, list, resourcev1.ResourceClaimReservedForMaxSize, consumer)
	switch {
	case len(list) == 0:
	case claim.Status.Allocation == nil && old.Status.Allocation != nil:
		errs = append(errs, field.Forbidden(path, "the allocation may not be cleared while there are consumers"))
	case claim.Status.Allocation == nil:
		errs = append(errs, field.Forbidden(path, "may not be set without `allocation`"))
	case claim.DeletionTimestamp != nil && hasNewConsumer(list, old.Status.ReservedFor):
		errs = append(errs, field.Forbidden(path, "no consumer may be added while `metadata.deletionTimestamp` is set"))
	}
	return errs
}

func hasNewConsumer(now, old []resourcev1.ResourceClaimConsumerReference) bool {
	had := make(map[resourcev1.ResourceClaimConsumerReference]bool, len(old))
	for _, c := range old {
		had[c] = true
	}
	for _, c := range now {
		if !had[c] {
			return true
		}
	}
	return false
}

// allocationResult checks a new allocation. It does not change later.
func allocationResult(path *field.Path, allocation *resource.AllocationResult, names requests) field.ErrorList {
	devices := path.Child("devices")
	errs := join(
		eachUpTo(
			devices.Child("results"),
			allocation.Devices.Results,
			resourcev1.AllocationResultsMaxSize,
			func(at *field.Path, r *resourcev1.DeviceRequestAllocationResult) field.ErrorList {
				return join(
					check(
						names.chosen(r.Request),
						at.Child("request"),
						r.Request,
						"must be the name of a request in the claim, or, of one with `firstAvailable`, of the request and a subrequest separated by '/'",
					),
					wellFormed(at.Child("device"), r.Device, validation.IsDNS1123Label),
					bindingConditions(at, r.BindingConditions, r.BindingFailureConditions),
					skippedOperations(at.Child("skipNodeOperations"), r.SkipNodeOperations),
					deviceTolerations(at.Child("tolerations"), r.Tolerations),
					amounts(at.Child("consumedCapacity"), r.ConsumedCapacity),
				)
			},
		),
		eachUpTo(
			devices.Child("config"),
			allocation.Devices.Config,
			2*resourcev1.DeviceConfigMaxSize,
			func(at *field.Path, c *resourcev1.DeviceAllocationConfiguration) field.ErrorList {
				return append(
					requestReferences(at.Child("requests"), c.Requests, names),
					deviceConfiguration(at, &c.DeviceConfiguration)...)
			},
		),
	)
	if allocation.NodeSelector != nil {
		errs = append(errs, nodeSelector(path.Child("nodeSelector"), allocation.NodeSelector)...)
	}
	return errs
}

// asAsked checks the fields of a new allocation that permit further use against the spec, because
// other claims get the same devices, and pods use the claim, on the basis of these fields.
func asAsked(
	path *field.Path, allocation *resource.AllocationResult, spec *resource.ResourceClaimSpec,
) field.ErrorList {
	var errs field.ErrorList
	results := path.Child("devices", "results")
	for i := range allocation.Devices.Results {
		r := &allocation.Devices.Results[i]
		if ptr.Deref(r.AdminAccess, false) && !asksForAdminAccess(spec, r.Request) {
			errs = append(errs,
				field.Forbidden(results.Index(i).Child("adminAccess"), "the request does not ask for admin access"))
		}
		if slices.ContainsFunc(
			allocation.Devices.Results[:i],
			func(other resourcev1.DeviceRequestAllocationResult) bool { return isIncompatible(r, &other) },
		) {
			errs = append(errs, field.Duplicate(results.Index(i), r.Driver+"/"+r.Pool+"/"+r.Device))
		}
	}
	if ptr.Deref(allocation.ReservedForAnyPod, false) && spec.ReservedFor == nil {
		errs = append(errs, field.Forbidden(path.Child("reservedForAnyPod"), "may not be set without `spec.reservedFor`"))
	}
	return errs
}

// asksForAdminAccess reports whether the request has admin access. Subrequests cannot have it.
func asksForAdminAccess(spec *resource.ResourceClaimSpec, request string) bool {
	return slices.ContainsFunc(spec.Devices.Requests, func(r resourcev1.DeviceRequest) bool {
		return r.Name == request && r.Exactly != nil && ptr.Deref(r.Exactly.AdminAccess, false)
	})
}

// isIncompatible reports whether two results are incompatible: they have the same device without separate
// shares of it.
func isIncompatible(a, b *resourcev1.DeviceRequestAllocationResult) bool {
	if a.Driver != b.Driver || a.Pool != b.Pool || a.Device != b.Device || ptr.Deref(a.AdminAccess, false) ||
		ptr.Deref(b.AdminAccess, false) {
		return false
	}
	return a.ShareID == nil || b.ShareID == nil || *a.ShareID == *b.ShareID
}

// deviceKey identifies an allocated device.
type deviceKey struct {
	driver, pool, device string
	share                types.UID
}

// deviceStatuses checks that drivers report only devices that are allocated to the claim.
func deviceStatuses(path *field.Path, status *resource.ResourceClaimStatus) field.ErrorList {
	allocated := map[deviceKey]bool{}
	if status.Allocation != nil {
		for _, r := range status.Allocation.Devices.Results {
			key := deviceKey{driver: r.Driver, pool: r.Pool, device: r.Device}
			if r.ShareID != nil {
				key.share = *r.ShareID
			}
			allocated[key] = true
		}
	}
	return each(path, status.Devices, func(at *field.Path, d *resourcev1.AllocatedDeviceStatus) field.ErrorList {
		key := deviceKey{driver: d.Driver, pool: d.Pool, device: d.Device}
		if d.ShareID != nil {
			key.share = types.UID(*d.ShareID)
		}
		errs := join(
			driverName(at.Child("driver"), d.Driver),
			poolName(at.Child("pool"), d.Pool),
			wellFormed(at.Child("device"), d.Device, validation.IsDNS1123Label),
			check(allocated[key], at, d.Driver+"/"+d.Pool+"/"+d.Device, "must be a device that the claim has"),
			atMost(at.Child("conditions"), len(d.Conditions), resourcev1.AllocatedDeviceStatusMaxConditions),
			conditions(at.Child("conditions"), d.Conditions),
		)
		if d.Data != nil && len(d.Data.Raw) > 0 {
			errs = append(errs, jsonObject(at.Child("data"), d.Data, resourcev1.AllocatedDeviceStatusDataMaxLength)...)
		}
		if n := d.NetworkData; n != nil {
			errs = append(
				errs,
				eachUpTo(
					at.Child("networkData", "ips"),
					n.IPs,
					resourcev1.NetworkDeviceDataMaxIPs,
					func(at *field.Path, ip *string) field.ErrorList {
						return validation.IsValidInterfaceAddress(at, *ip)
					},
				)...)
		}
		return errs
	})
}

// isUnchanged reports whether two values are semantically equal.
func isUnchanged(now, old any) bool { return equality.Semantic.DeepEqual(now, old) }
