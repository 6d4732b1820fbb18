package model_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	inf "gopkg.in/inf.v0"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/allot-dev/allot/internal/model"
)

// texts generates quantities as users write them, including extremes.
func texts() *rapid.Generator[string] {
	edges := []string{
		"0", "1", "-1", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
		"18446744073709551616", "18446744073709551619", "1e30", "-1e30", "1n", "1500m", "0.5", "9223372036854775807m",
		"9223372036854775808n",
		"8Ei", "16Ei", "9e18", "9223372036854775.807", "9223372036854775.8071", "1e60", "1000000000000000000e40",
		"1000000000000000000e45", "999e61",
	}
	suffixes := []string{"", "", "n", "u", "m", "k", "M", "G", "E", "Ki", "Mi", "Ei", "e5", "e-5", "e20", "e40"}
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.Bool().Draw(t, "edge") {
			return rapid.SampledFrom(edges).Draw(t, "text")
		}
		number := fmt.Sprint(rapid.Int64().Draw(t, "number"))
		if rapid.Bool().Draw(t, "fraction") {
			number += fmt.Sprintf(".%d", rapid.IntRange(0, 99).Draw(t, "digits"))
		}
		return number + rapid.SampledFrom(suffixes).Draw(t, "suffix")
	})
}

func drawQuantity(t *rapid.T, name string) resource.Quantity {
	return resource.MustParse(texts().Draw(t, name))
}

// exact returns the quantity in units of 10^-9, in which every quantity is an integer.
func exact(q resource.Quantity) *big.Int {
	own := q.DeepCopy()
	rounded := new(inf.Dec).Round(own.AsDec(), 9, inf.RoundExact)
	return rounded.UnscaledBig()
}

func clamp(n *big.Int) int64 {
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() > 0:
		return math.MaxInt64
	}
	return math.MinInt64
}

// ceil returns n / 10^digits, rounded up.
func ceil(n *big.Int, digits int64) *big.Int {
	quotient, rest := new(big.Int).DivMod(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(digits), nil), new(big.Int))
	if rest.Sign() != 0 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return quotient
}

func TestAmountsNeverWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, -1, 0, 1}))
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		if got, want := model.AddAmounts(a, b), clamp(new(big.Int).Add(big.NewInt(a), big.NewInt(b))); got != want {
			t.Errorf("%d + %d: got %d, want %d", a, b, got, want)
		}
		if got, want := model.SubAmounts(a, b), clamp(new(big.Int).Sub(big.NewInt(a), big.NewInt(b))); got != want {
			t.Errorf("%d - %d: got %d, want %d", a, b, got, want)
		}
		q := drawQuantity(t, "quantity")
		before := q.String()
		for scale, digits := range map[resource.Scale]int64{0: 9, resource.Milli: 6, resource.Nano: 0} {
			if got, want := model.AmountOf(q, scale), clamp(ceil(exact(q), digits)); got != want {
				t.Errorf("%s in 10^%d: got %d, want %d", before, scale, got, want)
			}
		}
	})
}

// TestUnitsAreExact compares counts in units with the quantities: sums and comparisons of counts
// within the range of int64 are equal to those of the quantities.
func TestUnitsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := make([]resource.Quantity, rapid.IntRange(1, 4).Draw(t, "quantities"))
		for i := range list {
			list[i] = drawQuantity(t, "quantity")
		}
		unit := model.AmountUnitOf(list)
		for i := range list {
			n := unit.Count(list[i])
			if n == math.MaxInt64 || n == math.MinInt64 {
				continue
			}
			if back := unit.Quantity(n); back.Cmp(list[i]) != 0 {
				t.Errorf("%s is %d units, which are %s", list[i].String(), n, back.String())
			}
			for k := range i {
				if m := unit.Count(list[k]); m != math.MaxInt64 && m != math.MinInt64 && (m < n) != (list[k].Cmp(list[i]) < 0) {
					t.Errorf("%s and %s: %d and %d units", list[k].String(), list[i].String(), m, n)
				}
			}
		}
	})
}

func TestStepsAndTimesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, from, step := drawQuantity(t, "quantity"), drawQuantity(t, "from"), drawQuantity(t, "step")
		if got, ok := model.RoundUpToStep(q, from, step); ok {
			distance := new(big.Int).Sub(exact(got), exact(from))
			switch {
			case new(big.Int).Rem(distance, exact(step)).Sign() != 0 || distance.Sign() < 0:
				t.Errorf("%s from %s by %s: %s is no step", q.String(), from.String(), step.String(), got.String())
			case got.Cmp(q) < 0:
				t.Errorf("%s from %s by %s: %s is less", q.String(), from.String(), step.String(), got.String())
			case distance.Sign() > 0 && new(big.Int).Sub(exact(got), exact(step)).Cmp(exact(q)) >= 0:
				t.Errorf("%s from %s by %s: %s is not the least", q.String(), from.String(), step.String(), got.String())
			}
		} else if step.Sign() > 0 {
			t.Errorf("%s from %s by %s: none", q.String(), from.String(), step.String())
		}
		const most = 1 << 20
		want := int64(most)
		if step.Sign() > 0 {
			want = min(want, max(0, clamp(new(big.Int).Quo(exact(q), exact(step)))))
		}
		if got := model.Times(q, step, most); int64(got) != want {
			t.Errorf("%s goes %d times into %s, want %d", step.String(), got, q.String(), want)
		}
	})
}

// TestLargeExponentsAreCheap uses amounts with exponents for which computing the power of ten takes
// seconds.
func TestLargeExponentsAreCheap(t *testing.T) {
	for text, want := range map[string]int64{"1e2000000000": math.MaxInt64, "-1e2000000000": math.MinInt64,
		"1.5e1999999999": math.MaxInt64} {
		q := resource.MustParse(text)
		if got := model.AmountOf(q, resource.Milli); got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
		bounded := model.Bounded(q)
		if one := resource.MustParse("1"); bounded.Cmp(one) != q.Sign() {
			t.Errorf("%s is bounded to %s", text, bounded.String())
		}
	}
}
