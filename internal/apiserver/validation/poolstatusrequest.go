package validation

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	upstreamv1alpha3 "k8s.io/api/resource/v1alpha3"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Limits of the status of a ResourcePoolStatusRequest.
const (
	maxPoolStatusConditions = 10
	maxPoolStatusEntries    = 32 // in each summary of a pool
	maxPoolStatusError      = 256
)

// ValidateResourcePoolStatusRequest checks a new request.
func ValidateResourcePoolStatusRequest(request *upstreamv1alpha3.ResourcePoolStatusRequest) field.ErrorList {
	spec, path := &request.Spec, field.NewPath("spec")
	errs := join(
		metadata(&request.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain),
		requestedDriver(path.Child("driver"), spec.Driver),
	)
	if spec.PoolName != nil {
		if *spec.PoolName == "" {
			errs = append(errs, field.Invalid(path.Child("poolName"), "", "must not be empty"))
		} else {
			errs = append(errs, poolName(path.Child("poolName"), *spec.PoolName)...)
		}
	}
	if limit := path.Child("limit"); spec.Limit == nil {
		errs = append(errs, field.Required(limit, ""))
	} else {
		errs = append(errs, check(*spec.Limit >= 1 && *spec.Limit <= upstreamv1alpha3.ResourcePoolStatusRequestLimitMax,
			limit, *spec.Limit, "must be between 1 and 1000")...)
	}
	if name := spec.DefaultPartitionTypeAttribute; name != nil {
		at := path.Child("defaultPartitionTypeAttribute")
		errs = append(errs, qualifiedName(at, resourcev1.QualifiedName(*name))...)
		errs = append(
			errs,
			check(strings.Contains(*name, "/"), at, *name, "must have a domain, as in `gpu.example.com/profile`")...)
	}
	return errs
}

// ValidateResourcePoolStatusRequestUpdate checks a change of a request. The spec is immutable.
func ValidateResourcePoolStatusRequestUpdate(request, old *upstreamv1alpha3.ResourcePoolStatusRequest) field.ErrorList {
	return append(
		metadataUpdate(&request.ObjectMeta, &old.ObjectMeta),
		immutableField(field.NewPath("spec"), request.Spec, old.Spec)...)
}

// ValidateResourcePoolStatusRequestStatusUpdate checks the status, which is set once.
func ValidateResourcePoolStatusRequestStatusUpdate(
	request, old *upstreamv1alpha3.ResourcePoolStatusRequest,
) field.ErrorList {
	errs, path := metadataUpdate(&request.ObjectMeta, &old.ObjectMeta), field.NewPath("status")
	switch {
	case old.Status != nil:
		return append(errs, immutableField(path, request.Status, old.Status)...)
	case request.Status == nil:
		return errs
	}
	status := request.Status
	return join(errs,
		requiredCount(path.Child("poolCount"), status.PoolCount),
		atMost(path.Child("pools"), len(status.Pools), int(upstreamv1alpha3.ResourcePoolStatusRequestLimitMax)),
		each(path.Child("pools"), status.Pools, poolStatus),
		atMost(path.Child("conditions"), len(status.Conditions), maxPoolStatusConditions),
		conditions(path.Child("conditions"), status.Conditions),
	)
}

// requestedDriver checks the form of a driver's name. It may be longer than drivers can have.
func requestedDriver(path *field.Path, name string) field.ErrorList {
	return requiredForm(path, name, func(text string) []string {
		return validation.IsDNS1123Subdomain(strings.ToLower(text))
	})
}

// requiredCount checks a required number.
func requiredCount(path *field.Path, n *int32) field.ErrorList {
	if n == nil {
		return errorList(field.Required(path, ""))
	}
	return nonNegative(path, *n)
}

// optionalCount checks an optional number.
func optionalCount(path *field.Path, n *int32) field.ErrorList {
	if n == nil {
		return nil
	}
	return nonNegative(path, *n)
}

func poolStatus(path *field.Path, pool *upstreamv1alpha3.PoolStatus) field.ErrorList {
	errs := join(
		requestedDriver(path.Child("driver"), pool.Driver),
		poolName(path.Child("poolName"), pool.PoolName),
		when(pool.Generation == 0, func() field.ErrorList { return errorList(field.Required(path.Child("generation"), "")) }),
		nonNegative(path.Child("generation"), pool.Generation),
		optionalCount(path.Child("totalDevices"), pool.TotalDevices),
		optionalCount(path.Child("allocatedDevices"), pool.AllocatedDevices),
		optionalCount(path.Child("availableDevices"), pool.AvailableDevices),
		optionalCount(path.Child("unavailableDevices"), pool.UnavailableDevices),
		atMost(path.Child("partitionSummary"), len(pool.PartitionSummary), maxPoolStatusEntries),
		eachUpTo(path.Child("partitionSummary"), pool.PartitionSummary, maxPoolStatusEntries, partitionTypeStatus),
		when(len(pool.PartitionSummary) <= maxPoolStatusEntries, func() field.ErrorList {
			return unique(path.Child("partitionSummary"), pool.PartitionSummary, "",
				func(p *upstreamv1alpha3.PartitionTypeStatus) string { return p.Attribute + " " + p.Type })
		}),
	)
	if n := pool.ResourceSliceCount; n != nil {
		errs = append(errs, check(*n > 0, path.Child("resourceSliceCount"), *n, positive)...)
	}
	if pool.NodeName != nil {
		errs = append(errs, dnsSubdomain(path.Child("nodeName"), *pool.NodeName)...)
	}
	if e := pool.ValidationError; e != nil && len(*e) > maxPoolStatusError {
		errs = append(errs, field.TooLong(path.Child("validationError"), "", maxPoolStatusError))
	}
	if pool.ShareableSummary != nil {
		errs = append(errs, shareableSummary(path.Child("shareableSummary"), pool.ShareableSummary)...)
	}
	return errs
}

func partitionTypeStatus(path *field.Path, p *upstreamv1alpha3.PartitionTypeStatus) field.ErrorList {
	return join(
		required(path.Child("attribute"), p.Attribute),
		required(path.Child("type"), p.Type),
		requiredCount(path.Child("total"), p.Total),
		requiredCount(path.Child("allocatable"), p.Allocatable),
	)
}

func shareableSummary(path *field.Path, s *upstreamv1alpha3.ShareableSummaryStatus) field.ErrorList {
	at := path.Child("capacity")
	return join(
		requiredCount(path.Child("fullyAvailableDevices"), s.FullyAvailableDevices),
		requiredCount(path.Child("partiallyAvailableDevices"), s.PartiallyAvailableDevices),
		atMost(at, len(s.Capacity), maxPoolStatusEntries),
		eachUpTo(
			at,
			s.Capacity,
			maxPoolStatusEntries,
			func(at *field.Path, c *upstreamv1alpha3.ShareableCapacityStatus) field.ErrorList {
				return join(
					required(at.Child("name"), c.Name),
					requiredAmount(at.Child("total"), c.Total),
					requiredAmount(at.Child("consumed"), c.Consumed),
					requiredAmount(at.Child("available"), c.Available),
				)
			},
		),
	)
}

// requiredAmount checks a required quantity.
func requiredAmount(path *field.Path, q *resource.Quantity) field.ErrorList {
	if q == nil {
		return errorList(field.Required(path, ""))
	}
	return nil
}
