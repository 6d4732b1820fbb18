package model

import (
	"math"
	"math/big"
	"slices"

	inf "gopkg.in/inf.v0"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Amounts of resources, capacities and counters are int64 numbers of some unit. They never wrap: an
// amount beyond the range of int64 counts as the end of the range. All conversions, sums and
// differences of amounts are in this file, except those whose operands are known to be small.

// MaxAmount represents itself and every larger amount. A request of MaxAmount fits nowhere: see
// MaxSupply.
const MaxAmount = math.MaxInt64

// MaxSupply is the largest amount that a node or a device counts as having, so that a request
// beyond the range of int64 fits nowhere.
const MaxSupply = MaxAmount - 1

// AddAmounts returns a + b.
func AddAmounts(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}

// SubAmounts returns a - b.
func SubAmounts(a, b int64) int64 {
	difference := a - b
	switch {
	case a >= 0 && b < 0 && difference < 0:
		return math.MaxInt64
	case a < 0 && b > 0 && difference >= 0:
		return math.MinInt64
	}
	return difference
}

// AmountOf converts a quantity to units of 10^scale, where scale is 0 or negative; fractions are
// rounded up. Unlike the conversions of resource.Quantity, it neither wraps nor computes powers of
// ten that the quantity's exponent asks for.
func AmountOf(q resource.Quantity, scale resource.Scale) int64 {
	if value, ok := q.AsInt64(); ok {
		if scale == 0 {
			return value
		}
		per := int64(math.Pow10(int(-scale)))
		if value >= -math.MaxInt64/per && value <= math.MaxInt64/per {
			return value * per
		}
		return clamped(q.Sign())
	}
	dec := decimal(q)
	drop := int64(dec.Scale()) + int64(scale) // decimal digits after the unit
	if unscaled, ok := dec.Unscaled(); ok && drop >= 0 && drop <= 18 {
		return dividedUp(unscaled, int64(math.Pow10(int(drop))))
	}
	return amountOfBig(dec.UnscaledBig(), drop)
}

// decimal returns the quantity as a decimal that the caller may change.
func decimal(q resource.Quantity) *inf.Dec {
	own := q.DeepCopy() // AsDec changes the quantity
	return own.AsDec()
}

// dividedUp returns a / b, rounded up; b is positive.
func dividedUp(a, b int64) int64 {
	if a > 0 && a%b != 0 {
		return a/b + 1
	}
	return a / b
}

// amountOfBig returns unscaled * 10^-drop, rounded up.
func amountOfBig(unscaled *big.Int, drop int64) int64 {
	const int64Digits = 19
	digits := int64(unscaled.BitLen())/3 + 1 // at least as many
	switch {
	case unscaled.Sign() == 0:
		return 0
	case drop < -int64Digits:
		return clamped(unscaled.Sign())
	case drop > digits: // less than one unit
		return int64(max(0, unscaled.Sign()))
	case drop < 0:
		return clampedBig(new(big.Int).Mul(unscaled, powerOfTen(-drop)))
	}
	quotient, rest := new(big.Int).QuoRem(unscaled, powerOfTen(drop), new(big.Int))
	if rest.Sign() > 0 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return clampedBig(quotient)
}

func powerOfTen(n int64) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil) }

func clampedBig(n *big.Int) int64 {
	if n.IsInt64() {
		return n.Int64()
	}
	return clamped(n.Sign())
}

func clamped(sign int) int64 {
	switch {
	case sign > 0:
		return math.MaxInt64
	case sign < 0:
		return math.MinInt64
	}
	return 0
}

// nanos returns the quantity in billionths, the smallest unit of a quantity. It must be Bounded.
func nanos(q resource.Quantity) *big.Int {
	dec := decimal(q)
	n := new(big.Int).Set(dec.UnscaledBig())
	shift := int64(dec.Scale()) + int64(resource.Nano)
	if shift > 0 {
		return n.Quo(n, powerOfTen(shift))
	}
	return n.Mul(n, powerOfTen(-shift))
}

func fromNanos(n *big.Int, format resource.Format) resource.Quantity {
	return *resource.NewDecimalQuantity(*inf.NewDecBig(n, inf.Scale(-resource.Nano)), format)
}

// maxExponent is far beyond any amount that is counted, and small enough to compute with.
const maxExponent = 64

// Bounded returns the quantity, or 10^64 with the quantity's sign if the quantity is not less than
// that. Arithmetic on quantities takes time and memory in proportion to the exponent, which takes
// only a few characters to write.
func Bounded(q resource.Quantity) resource.Quantity {
	if isBounded(q) {
		return q
	}
	return *resource.NewDecimalQuantity(*inf.NewDec(int64(q.Sign()), -maxExponent), q.Format)
}

func isBounded(q resource.Quantity) bool {
	if _, ok := q.AsInt64(); ok {
		return true
	}
	dec := decimal(q)
	return digits(dec.UnscaledBig())-int64(dec.Scale()) <= maxExponent
}

// digits returns the number of decimal digits of n without its sign.
func digits(n *big.Int) int64 {
	const millionthsOfDigitPerBit = 301030
	atMost := int64(n.BitLen())*millionthsOfDigitPerBit/1e6 + 1
	if n.CmpAbs(powerOfTen(atMost-1)) < 0 {
		return atMost - 1
	}
	return atMost
}

// boundedPod returns the pod, or a copy with bounded requests and limits, as upstream's sums are
// quantities.
func boundedPod(pod *corev1.Pod) *corev1.Pod {
	if !slices.ContainsFunc(amountsOf(pod), func(list corev1.ResourceList) bool {
		for _, q := range list {
			if !isBounded(q) {
				return true
			}
		}
		return false
	}) {
		return pod
	}
	pod = pod.DeepCopy()
	for _, list := range amountsOf(pod) {
		for name, q := range list {
			list[name] = Bounded(q)
		}
	}
	return pod
}

// amountsOf returns the lists of what a pod requests, and of its limits.
func amountsOf(pod *corev1.Pod) []corev1.ResourceList {
	lists := []corev1.ResourceList{pod.Spec.Overhead}
	if pod.Spec.Resources != nil {
		lists = append(lists, pod.Spec.Resources.Requests, pod.Spec.Resources.Limits)
	}
	for i := range pod.Spec.InitContainers {
		r := &pod.Spec.InitContainers[i].Resources
		lists = append(lists, r.Requests, r.Limits)
	}
	for i := range pod.Spec.Containers {
		r := &pod.Spec.Containers[i].Resources
		lists = append(lists, r.Requests, r.Limits)
	}
	return lists
}

// RoundUpToStep returns the smallest amount that is not less than q and a whole number of steps
// above from. It returns false if the step is not positive, because there is no such amount. All
// three must be Bounded.
func RoundUpToStep(q, from, step resource.Quantity) (resource.Quantity, bool) {
	if step.Sign() <= 0 {
		return q, false
	}
	if q.Cmp(from) <= 0 {
		return from, true
	}
	start, size := nanos(from), nanos(step)
	distance := nanos(q)
	distance.Sub(distance, start)
	steps, rest := new(big.Int).QuoRem(distance, size, new(big.Int))
	if rest.Sign() == 0 {
		return q, true
	}
	steps.Add(steps, big.NewInt(1))
	return fromNanos(start.Add(start, steps.Mul(steps, size)), step.Format), true
}

// Times returns how many times amount fits into total, up to limit. An amount that is not positive
// fits limit times. Both quantities must be Bounded.
func Times(total, amount resource.Quantity, limit int) int {
	if amount.Sign() <= 0 {
		return limit
	}
	if total.Cmp(amount) < 0 {
		return 0
	}
	if a, ok := total.AsInt64(); ok {
		if b, ok := amount.AsInt64(); ok {
			return int(min(int64(limit), a/b))
		}
	}
	times := new(big.Int).Quo(nanos(total), nanos(amount))
	if !times.IsInt64() {
		return limit
	}
	return int(min(int64(limit), times.Int64()))
}

// AmountUnit is the unit in which several quantities are counted: one, or the largest unit of which
// all of them are multiples.
type AmountUnit struct {
	nanos  *big.Int // nil: one
	format resource.Format
}

// AmountUnitOf returns the unit for some quantities; its format is that of the first.
func AmountUnitOf(quantities []resource.Quantity) AmountUnit {
	unit := AmountUnit{}
	if len(quantities) > 0 {
		unit.format = quantities[0].Format
	}
	whole := true
	for i := range quantities {
		_, ok := quantities[i].AsInt64()
		whole = whole && ok
	}
	if whole {
		return unit
	}
	common := new(big.Int)
	for i := range quantities {
		n := nanos(Bounded(quantities[i]))
		common.GCD(nil, nil, common, n.Abs(n))
	}
	if common.Sign() > 0 {
		unit.nanos = common
	}
	return unit
}

// Key returns a string that is equal for equal units and empty for the unit one.
func (u AmountUnit) Key() string {
	if u.nanos == nil {
		return ""
	}
	return u.nanos.String()
}

// Count returns the quantity as a number of units.
func (u AmountUnit) Count(q resource.Quantity) int64 {
	if u.nanos == nil {
		return AmountOf(q, 0)
	}
	return clampedBig(new(big.Int).Quo(nanos(Bounded(q)), u.nanos))
}

// Quantity returns the quantity of count units.
func (u AmountUnit) Quantity(count int64) resource.Quantity {
	if u.nanos == nil {
		return *resource.NewQuantity(count, u.format)
	}
	return fromNanos(new(big.Int).Mul(big.NewInt(count), u.nanos), u.format)
}
