package validation

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// device checks one device of a slice. Unchanged parts were valid when they were stored; the
// expensive ones are not checked again.
func device(path *field.Path, d, old *resourcev1.Device, spec *resourcev1.ResourceSliceSpec) field.ErrorList {
	errs := join(
		wellFormed(path.Child("name"), d.Name, validation.IsDNS1123Label),
		attributes(path, d),
		deviceReach(path, d, ptr.Deref(spec.PerDeviceNodeSelection, false)),
		bindingConditions(path, d.BindingConditions, d.BindingFailureConditions),
		eachUpTo(
			path.Child("consumesCounters"),
			d.ConsumesCounters,
			resourcev1.ResourceSliceMaxDeviceCounterConsumptionsPerDevice,
			func(at *field.Path, c *resourcev1.DeviceCounterConsumption) field.ErrorList {
				return counters(at.Child("counters"), c.Counters, resourcev1.ResourceSliceMaxCountersPerDeviceCounterConsumption)
			},
		),
		nodeAllocatable(path.Child("nodeAllocatableResources"), d),
	)
	if old == nil || !isUnchanged(d.Capacity, old.Capacity) {
		errs = append(errs, capacities(path.Child("capacity"), d)...)
	}
	if old == nil || !isUnchanged(d.Taints, old.Taints) {
		at := path.Child("taints")
		errs = append(errs, atMost(at, len(d.Taints), resourcev1.DeviceTaintsMaxLength)...)
		errs = append(
			errs,
			eachUpTo(
				at,
				d.Taints,
				resourcev1.DeviceTaintsMaxLength,
				func(at *field.Path, t *resourcev1.DeviceTaint) field.ErrorList {
					return append(
						metav1validation.ValidateLabelName(t.Key, at.Child("key")),
						labelValue(at.Child("value"), t.Value)...)
				},
			)...)
	}
	return errs
}

func deviceReach(path *field.Path, d *resourcev1.Device, perDevice bool) field.ErrorList {
	if perDevice {
		return reach(path, nodes{d.NodeName, d.NodeSelector, d.AllNodes})
	}
	return check(d.NodeName == nil && d.NodeSelector == nil && d.AllNodes == nil, path, nil,
		"`nodeName`, `nodeSelector` and `allNodes` may only be set where the slice has `perDeviceNodeSelection`")
}

func attributes(path *field.Path, d *resourcev1.Device) field.ErrorList {
	values := 0
	for _, a := range d.Attributes {
		values += max(1, len(a.BoolValues)+len(a.IntValues)+len(a.StringValues)+len(a.VersionValues))
	}
	entries := len(d.Attributes) + len(d.Capacity)
	errs := join(
		check(
			entries <= resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice,
			path,
			entries,
			fmt.Sprintf("the total number of attributes and capacities must not exceed %d",
				resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice),
		),
		check(
			values <= resourcev1.ResourceSliceMaxAttributeValuesPerDevice,
			path,
			values,
			fmt.Sprintf("the total number of attribute values must not exceed %d",
				resourcev1.ResourceSliceMaxAttributeValuesPerDevice),
		),
	)
	for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
		at, a := path.Child("attributes").Key(string(name)), d.Attributes[name]
		errs = append(errs, qualifiedName(path.Child("attributes"), name)...)
		errs = append(errs, attribute(at, &a)...)
	}
	return errs
}

// semver matches a version of semver.org 2.0.0: three numbers without leading zeros, then an
// optional pre-release and an optional build.
var semver = regexp.MustCompile(`^` + strings.Repeat(`(0|[1-9]\d*)\.`, 2) + `(0|[1-9]\d*)` +
	`(-` + prerelease + `(\.` + prerelease + `)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

const prerelease = `(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)`

// attribute checks an attribute. The generated rules check that it has exactly one value.
func attribute(path *field.Path, a *resourcev1.DeviceAttribute) field.ErrorList {
	short := func(at *field.Path, value string) field.ErrorList {
		if len(value) > resourcev1.DeviceAttributeMaxValueLength {
			return errorList(field.TooLong(at, "", resourcev1.DeviceAttributeMaxValueLength))
		}
		return nil
	}
	version := func(at *field.Path, value *string) field.ErrorList {
		return append(
			short(at, *value),
			check(semver.MatchString(*value), at, *value, "must be a version by semver.org 2.0.0")...)
	}
	var errs field.ErrorList
	if a.StringValue != nil {
		errs = append(errs, short(path.Child("string"), *a.StringValue)...)
	}
	if a.VersionValue != nil {
		errs = append(errs, version(path.Child("version"), a.VersionValue)...)
	}
	return join(
		errs,
		each(path.Child("strings"), a.StringValues,
			func(at *field.Path, value *string) field.ErrorList { return short(at, *value) }),
		each(path.Child("versions"), a.VersionValues, version),
		emptyLists(path, a),
	)
}

// emptyLists reports lists that are set and empty. The generated rules take them for unset, also
// when they count the values, and the next read of the object from storage would not have them.
func emptyLists(path *field.Path, a *resourcev1.DeviceAttribute) field.ErrorList {
	const message = "must not be empty if specified"
	errs := join(
		check(a.BoolValues == nil || len(a.BoolValues) > 0, path.Child("bools"), a.BoolValues, message),
		check(a.IntValues == nil || len(a.IntValues) > 0, path.Child("ints"), a.IntValues, message),
		check(a.StringValues == nil || len(a.StringValues) > 0, path.Child("strings"), a.StringValues, message),
		check(a.VersionValues == nil || len(a.VersionValues) > 0, path.Child("versions"), a.VersionValues, message),
	)
	if len(errs) > 0 && values(a) == 1 {
		errs = append(errs, field.Invalid(path, "", "must have exactly one value"))
	}
	return errs
}

// values returns the number of fields that have a value.
func values(a *resourcev1.DeviceAttribute) int {
	n := 0
	for _, set := range []bool{
		a.BoolValue != nil, a.IntValue != nil, a.StringValue != nil, a.VersionValue != nil,
		len(a.BoolValues) > 0, len(a.IntValues) > 0, len(a.StringValues) > 0, len(a.VersionValues) > 0,
	} {
		if set {
			n++
		}
	}
	return n
}

// qualifiedName checks a C identifier with an optional domain and slash before it.
func qualifiedName(path *field.Path, name resourcev1.QualifiedName) field.ErrorList {
	domain, id, qualified := strings.Cut(string(name), "/")
	var errs field.ErrorList
	switch {
	case !qualified:
		id = domain
	case domain == "":
		errs = append(errs, field.Invalid(path, string(name), "the domain must not be empty"))
	default:
		errs = append(errs, driverName(path, domain)...)
	}
	if len(id) > resourcev1.DeviceMaxIDLength {
		errs = append(errs, field.TooLong(path, "", resourcev1.DeviceMaxIDLength))
	}
	for _, message := range content.IsCIdentifier(id) {
		errs = append(errs, field.Invalid(path, string(name), message))
	}
	return errs
}

func bindingConditions(path *field.Path, wanted, failed []string) field.ErrorList {
	w, f := path.Child("bindingConditions"), path.Child("bindingFailureConditions")
	label := func(at *field.Path, name *string) field.ErrorList {
		return metav1validation.ValidateLabelName(*name, at)
	}
	key := func(name *string) string { return *name }
	errs := join(
		eachUpTo(w, wanted, resourcev1.BindingConditionsMaxSize, label), distinct(w, wanted, "", key),
		eachUpTo(f, failed, resourcev1.BindingFailureConditionsMaxSize, label), distinct(f, failed, "", key),
		each(f, failed, func(at *field.Path, name *string) field.ErrorList {
			return check(!slices.Contains(wanted, *name), at, *name, "must not also be in `bindingConditions`")
		}),
	)
	if (len(wanted) == 0) != (len(failed) == 0) {
		at, list := w, wanted
		if len(failed) == 0 {
			at, list = f, failed
		}
		errs = append(errs, field.Invalid(at, list, "`bindingConditions` and `bindingFailureConditions` need each other"))
	}
	return errs
}

// nodeAllocatable checks how a device changes the allocatable resources of its node. The generated
// rules check the combinations of fields.
func nodeAllocatable(path *field.Path, d *resourcev1.Device) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.SortedFunc(maps.Keys(d.NodeAllocatableResources), cmp.Compare[corev1.ResourceName]) {
		at, r := path.Key(string(name)), d.NodeAllocatableResources[name]
		switch {
		case name == corev1.ResourceCPU, name == corev1.ResourceMemory, isHugePages(name):
		default: // including ephemeral-storage, as in Kubernetes 1.37
			errs = append(errs, field.Invalid(at, name, "must be cpu, memory or hugepages"))
		}
		if r.Mapping == nil && r.Overhead == nil {
			errs = append(errs, field.Required(at, "at least one of `mapping`, `overhead` must be set"))
		}
		if m := r.Mapping; m != nil {
			errs = append(errs, mapping(at.Child("mapping"), m, d)...)
		}
		if o := r.Overhead; o != nil {
			if o.PerPod == nil && o.PerContainer == nil {
				errs = append(errs, field.Invalid(at.Child("overhead"), "", "at least one of `perPod`, `perContainer` must be set"))
			}
			for _, part := range []quantity{{"perPod", o.PerPod}, {"perContainer", o.PerContainer}} {
				if part.value != nil {
					errs = append(errs, nonNegativeQuantity(at.Child("overhead", part.field), *part.value)...)
				}
			}
		}
	}
	return errs
}

func mapping(path *field.Path, m *resourcev1.NodeAllocatableMapping, d *resourcev1.Device) field.ErrorList {
	var errs field.ErrorList
	if m.CapacityKey != nil {
		at := path.Child("capacityKey")
		if _, ok := d.Capacity[*m.CapacityKey]; *m.CapacityKey == "" {
			errs = append(errs, field.Invalid(at, "", "must not be empty"))
		} else if !ok {
			errs = append(errs, field.NotFound(at, *m.CapacityKey))
		}
		if m.CapacityMultiplier == nil {
			errs = append(errs, field.Required(path.Child("capacityMultiplier"), "needed with `capacityKey`"))
		}
		if by := m.CapacityMultiplier; by != nil {
			errs = append(errs, check(by.Sign() > 0, path.Child("capacityMultiplier"), by.String(), positive)...)
		}
	}
	if m.CapacityKey == nil && m.CapacityMultiplier != nil {
		errs = append(errs, field.Required(path.Child("capacityKey"), "needed with `capacityMultiplier`"))
	}
	if by := m.DeviceMultiplier; by != nil {
		errs = append(errs, check(by.Sign() > 0, path.Child("deviceMultiplier"), by.String(), positive)...)
	}
	return errs
}
