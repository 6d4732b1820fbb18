package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// ValidateResourceSlice checks a new ResourceSlice.
func ValidateResourceSlice(slice *resourcev1.ResourceSlice) field.ErrorList {
	return append(
		metadata(&slice.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain),
		sliceSpec(&slice.Spec, nil)...)
}

// ValidateResourceSliceUpdate checks a change of a slice. Driver, pool and node are immutable.
func ValidateResourceSliceUpdate(slice, old *resourcev1.ResourceSlice) field.ErrorList {
	path := field.NewPath("spec")
	return join(
		metadataUpdate(&slice.ObjectMeta, &old.ObjectMeta),
		immutableField(path.Child("driver"), slice.Spec.Driver, old.Spec.Driver),
		immutableField(path.Child("pool", "name"), slice.Spec.Pool.Name, old.Spec.Pool.Name),
		immutableField(path.Child("nodeName"), slice.Spec.NodeName, old.Spec.NodeName),
		sliceSpec(&slice.Spec, &old.Spec),
	)
}

func sliceSpec(spec, old *resourcev1.ResourceSliceSpec) field.ErrorList {
	path := field.NewPath("spec")
	errs := declared(resourcev1.Validate_ResourceSliceSpec, path, spec, old)
	if spec.SharedCounters != nil && spec.Devices != nil {
		errs = append(errs, field.Invalid(path, "", "only one of `sharedCounters` or `devices` may be set"))
	}
	return join(
		errs,
		driverName(path.Child("driver"), spec.Driver),
		poolName(path.Child("pool", "name"), spec.Pool.Name),
		check(spec.Pool.ResourceSliceCount > 0, path.Child("pool", "resourceSliceCount"), spec.Pool.ResourceSliceCount,
			positive),
		nonNegative(path.Child("pool", "generation"), spec.Pool.Generation),
		reach(path, nodes{spec.NodeName, spec.NodeSelector, spec.AllNodes},
			member{"perDeviceNodeSelection", ptr.Deref(spec.PerDeviceNodeSelection, false)}),
		onlyTrue(path.Child("perDeviceNodeSelection"), spec.PerDeviceNodeSelection),
		atMost(path.Child("devices"), len(spec.Devices), maxDevices(spec)),
		eachUpTo(
			path.Child("devices"),
			spec.Devices,
			maxDevices(spec),
			func(at *field.Path, d *resourcev1.Device) field.ErrorList {
				return device(at, d, deviceNamed(old, d.Name), spec)
			},
		),
		when(len(spec.Devices) <= maxDevices(spec), func() field.ErrorList {
			return distinct(path.Child("devices"), spec.Devices, "", func(d *resourcev1.Device) string { return d.Name })
		}),
		eachUpTo(
			path.Child("sharedCounters"),
			spec.SharedCounters,
			resourcev1.ResourceSliceMaxCounterSets,
			func(at *field.Path, s *resourcev1.CounterSet) field.ErrorList {
				return counters(at.Child("counters"), s.Counters, resourcev1.ResourceSliceMaxCountersPerCounterSet)
			},
		),
		skippedOperations(path.Child("skipNodeOperations"), spec.SkipNodeOperations),
		partitionType(path, spec),
	)
}

// nodes has the fields by which a slice, or a device, selects nodes.
type nodes struct {
	name     *string
	selector *corev1.NodeSelector
	all      *bool
}

// reach checks that exactly one of the fields is set; own is an additional one.
func reach(path *field.Path, n nodes, own ...member) field.ErrorList {
	members := []member{
		{"nodeName", n.name != nil && *n.name != ""},
		{"nodeSelector", n.selector != nil},
		{"allNodes", ptr.Deref(n.all, false)},
	}
	errs := exactlyOne(path, append(members, own...)...)
	if n.name != nil {
		errs = append(errs, pointerForm(path.Child("nodeName"), n.name, validation.IsDNS1123Subdomain)...)
	}
	if n.selector != nil {
		at := path.Child("nodeSelector")
		errs = append(errs, nodeSelector(at, n.selector)...)
		// With one term each, the selectors of several slices and devices can be merged.
		terms := n.selector.NodeSelectorTerms
		errs = append(
			errs,
			check(len(terms) == 1, at.Child("nodeSelectorTerms"), terms, "must have exactly one node selector term")...)
	}
	return append(errs, onlyTrue(path.Child("allNodes"), n.all)...)
}

func onlyTrue(path *field.Path, value *bool) field.ErrorList {
	return check(value == nil || *value, path, false, "must be true where it is set")
}

// maxDevices returns the maximum number of devices, which is lower for devices with features that
// make them large.
func maxDevices(spec *resourcev1.ResourceSliceSpec) int {
	for i := range spec.Devices {
		d := &spec.Devices[i]
		if len(d.Taints) > 0 || len(d.ConsumesCounters) > 0 || hasLists(d) {
			return resourcev1.ResourceSliceMaxDevicesWithAdvancedFeatures
		}
	}
	return resourcev1.ResourceSliceMaxDevices
}

func hasLists(d *resourcev1.Device) bool {
	for _, a := range d.Attributes {
		if a.BoolValues != nil || a.IntValues != nil || a.StringValues != nil || a.VersionValues != nil {
			return true
		}
	}
	return false
}

func deviceNamed(spec *resourcev1.ResourceSliceSpec, name string) *resourcev1.Device {
	if spec == nil {
		return nil
	}
	for i := range spec.Devices {
		if spec.Devices[i].Name == name {
			return &spec.Devices[i]
		}
	}
	return nil
}

// skippedOperations rejects skipping the preparation of a device but not its unpreparation.
func skippedOperations(path *field.Path, list []resourcev1.SkipNodeOperation) field.ErrorList {
	has := func(op resourcev1.SkipNodeOperation) bool { return slices.Contains(list, op) }
	return check(
		!has(resourcev1.SkipNodeOperationNodePrepareResources) || has(resourcev1.SkipNodeOperationNodeUnprepareResources) ||
			has(resourcev1.SkipNodeOperationAll),
		path,
		list,
		"NodePrepareResources may only be skipped together with NodeUnprepareResources",
	)
}

// partitionType checks the attribute that distinguishes the partitions of a device: each device
// that consumes counters must have it, as a string. No device can have an attribute with a malformed
// name, which the generated rules report.
func partitionType(path *field.Path, spec *resourcev1.ResourceSliceSpec) field.ErrorList {
	if spec.PartitionTypeAttribute == nil {
		return nil
	}
	name := string(*spec.PartitionTypeAttribute)
	bare := resourcev1.QualifiedName(strings.TrimPrefix(name, spec.Driver+"/"))
	consumes := func(d resourcev1.Device) bool { return len(d.ConsumesCounters) > 0 }
	if !slices.ContainsFunc(spec.Devices, consumes) {
		return errorList(field.Invalid(path.Child("partitionTypeAttribute"), name,
			"may only be set where a device consumes counters"))
	}
	if !strings.Contains(name, "/") || len(qualifiedName(path, resourcev1.QualifiedName(name))) > 0 {
		return nil
	}
	return each(path.Child("devices"), spec.Devices, func(at *field.Path, d *resourcev1.Device) field.ErrorList {
		if !consumes(*d) {
			return nil
		}
		attribute, ok := d.Attributes[resourcev1.QualifiedName(name)]
		if !ok {
			attribute, ok = d.Attributes[bare]
		}
		at = at.Child("attributes").Key(name)
		if !ok {
			return errorList(field.Required(at, "named by `partitionTypeAttribute`"))
		}
		return check(attribute.StringValue != nil, at, "", "must be a string, since `partitionTypeAttribute` names it")
	})
}
