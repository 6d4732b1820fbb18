package validation

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"

	"gopkg.in/inf.v0"
	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// maxValidValues is the maximum number of values in a request policy.
const maxValidValues = 10

// quantity is an optional quantity in a field.
type quantity struct {
	field string
	value *apiresource.Quantity
}

// amounts checks capacities by name.
func amounts(path *field.Path, list map[resourcev1.QualifiedName]apiresource.Quantity) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(list)) {
		errs = append(errs, qualifiedName(path.Key(string(name)), name)...)
		errs = append(errs, nonNegativeQuantity(path.Key(string(name)), list[name])...)
	}
	return errs
}

// counters checks the values of counters. The generated rules check their names. A negative
// consumption would add to the counter for other devices.
func counters(path *field.Path, list map[string]resourcev1.Counter, limit int) field.ErrorList {
	errs := atMost(path, len(list), limit)
	for _, name := range slices.Sorted(maps.Keys(list)) {
		errs = append(errs, nonNegativeQuantity(path.Key(name).Child("value"), list[name].Value)...)
	}
	return errs
}

// capacities checks the capacities of a device, and the policies for requests of shares of them.
func capacities(path *field.Path, d *resourcev1.Device) field.ErrorList {
	shared := ptr.Deref(d.AllowMultipleAllocations, false)
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(d.Capacity)) {
		at, c := path.Key(string(name)), d.Capacity[name]
		errs = append(errs, qualifiedName(path, name)...)
		errs = append(errs, nonNegativeQuantity(at.Child("value"), c.Value)...)
		switch {
		case c.RequestPolicy == nil:
		case shared:
			errs = append(errs, requestPolicy(at.Child("requestPolicy"), c.RequestPolicy, c.Value)...)
		default:
			errs = append(errs,
				field.Forbidden(at.Child("requestPolicy"), "may only be set where `allowMultipleAllocations` is true"))
		}
	}
	return errs
}

func requestPolicy(
	path *field.Path, policy *resourcev1.CapacityRequestPolicy, capacity apiresource.Quantity,
) field.ErrorList {
	values, span := len(policy.ValidValues) > 0, policy.ValidRange != nil
	switch {
	case values && span:
		return errorList(field.Forbidden(path, "only one of `validValues` and `validRange` may be set"))
	case (values || span) && policy.Default == nil:
		return errorList(field.Required(path.Child("default"), "needed together with `validValues` and `validRange`"))
	case values:
		return validValues(path, policy, capacity)
	case span:
		return validRange(path, policy, capacity)
	}
	return nil
}

func validValues(
	path *field.Path, policy *resourcev1.CapacityRequestPolicy, capacity apiresource.Quantity,
) field.ErrorList {
	at := path.Child("validValues")
	few := len(policy.ValidValues) <= maxValidValues
	errs := atMost(at, len(policy.ValidValues), maxValidValues)
	found := false
	for i, v := range policy.ValidValues {
		found = found || few && v.Cmp(*policy.Default) == 0
		if i > 0 && v.Cmp(policy.ValidValues[i-1]) < 0 {
			errs = append(errs, field.Invalid(at.Index(i), v.String(), "values must be in ascending order"))
		}
		if !few {
			continue
		}
		// Equal amounts in different notations are not found, as in Kubernetes.
		same := func(other apiresource.Quantity) bool { return other.AsDec().String() == v.AsDec().String() }
		if slices.ContainsFunc(policy.ValidValues[:i], same) {
			errs = append(errs, field.Duplicate(at.Index(i), v.String()))
		}
		errs = append(errs, atMostCapacity(at.Index(i), v, capacity)...)
	}
	return append(errs, check(found, at, policy.Default.String(), "must have `default` among them")...)
}

func atMostCapacity(path *field.Path, value, capacity apiresource.Quantity) field.ErrorList {
	return check(value.Cmp(capacity) <= 0, path, value.String(),
		fmt.Sprintf("must be less than or equal to the capacity (%s)", capacity.String()))
}

func validRange(
	path *field.Path, policy *resourcev1.CapacityRequestPolicy, capacity apiresource.Quantity,
) field.ErrorList {
	r, at := policy.ValidRange, path.Child("validRange")
	if r.Min == nil {
		return errorList(field.Required(at.Child("min"), ""))
	}
	low, top := *r.Min, *policy.Default
	errs := join(
		nonNegativeQuantity(at.Child("min"), low),
		atMostCapacity(at.Child("min"), low, capacity),
		check(top.Cmp(low) >= 0, path.Child("default"), top.String(), "must be greater than or equal to `validRange.min`"),
	)
	if high := r.Max; high != nil {
		errs = append(errs, join(
			check(high.Cmp(low) >= 0, at.Child("max"), high.String(), "must be greater than or equal to `min`"),
			atMostCapacity(at.Child("max"), *high, capacity),
			check(top.Cmp(*high) <= 0, path.Child("default"), top.String(), "must be less than or equal to `validRange.max`"),
		)...)
	}
	bounds := rangeBounds(path, policy)
	milli := slices.ContainsFunc(bounds, func(b quantityAt) bool { return isFraction(*b.value) })
	if milli {
		if faults := inThousandths(bounds); len(faults) > 0 {
			return append(errs, faults...)
		}
	}
	if r.Step == nil {
		return errs
	}
	if r.Step.Sign() <= 0 {
		return append(errs, field.Invalid(at.Child("step"), r.Step.String(), positive))
	}
	first := low.DeepCopy()
	first.Add(*r.Step)
	errs = append(errs, atMostCapacity(at.Child("step"), first, capacity)...)
	if !milli {
		if faults := inWholeNumbers(bounds); len(faults) > 0 {
			return append(errs, faults...)
		}
	}
	for _, q := range []quantity{{"default", policy.Default}, {"max", r.Max}} {
		if q.value != nil && !onStep(*q.value, low, *r.Step) {
			errs = append(errs, field.Invalid(at.Child("step"), r.Step.String(),
				fmt.Sprintf("must divide the distance from `min` to `%s` (%s)", q.field, q.value.String())))
		}
	}
	return errs
}

// rangeBounds returns the quantities of a range that are set, and the default.
func rangeBounds(path *field.Path, policy *resourcev1.CapacityRequestPolicy) []quantityAt {
	r, at := policy.ValidRange, path.Child("validRange")
	all := []quantityAt{
		{path.Child("default"), policy.Default},
		{at.Child("min"), r.Min},
		{at.Child("max"), r.Max},
		{at.Child("step"), r.Step},
	}
	return slices.DeleteFunc(all, func(b quantityAt) bool { return b.value == nil })
}

// inThousandths checks that allocators can count in a range that has fractions.
func inThousandths(bounds []quantityAt) field.ErrorList {
	var errs field.ErrorList
	for _, b := range bounds {
		thousandths := apiresource.NewMilliQuantity(b.value.MilliValue(), b.value.Format)
		errs = append(
			errs,
			check(b.value.Cmp(*thousandths) == 0, b.path, b.value.String(),
				"must be a number of thousandths that fits into 64 bits")...)
	}
	return errs
}

// inWholeNumbers checks that allocators can count in a range that has steps.
func inWholeNumbers(bounds []quantityAt) field.ErrorList {
	var errs field.ErrorList
	for _, b := range bounds {
		errs = append(
			errs,
			check(b.value.Sign() >= 0 && b.value.CmpInt64(math.MaxInt64) <= 0, b.path, b.value.String(),
				"must not be negative, and must fit into 64 bits")...)
	}
	return errs
}

// quantityAt is an optional quantity with its path.
type quantityAt struct {
	path  *field.Path
	value *apiresource.Quantity
}

func isFraction(q apiresource.Quantity) bool {
	d := q.DeepCopy()
	whole := new(inf.Dec).Round(d.AsDec(), 0, inf.RoundDown)
	return whole.Cmp(d.AsDec()) != 0
}

// onStep reports whether value is exactly low plus a multiple of step. Quantities are decimal
// numbers of any size.
func onStep(value, low, step apiresource.Quantity) bool {
	distance := value.DeepCopy()
	distance.Sub(low)
	d, s := distance.AsDec(), step.AsDec()
	scale := max(d.Scale(), s.Scale(), 0)
	a, b := unscaled(d, scale), unscaled(s, scale)
	return b.Sign() != 0 && a.Rem(a, b).Sign() == 0
}

// unscaled returns a decimal number as a whole number of units of 10^-scale.
func unscaled(d *inf.Dec, scale inf.Scale) *big.Int {
	return new(inf.Dec).Round(d, scale, inf.RoundExact).UnscaledBig()
}
