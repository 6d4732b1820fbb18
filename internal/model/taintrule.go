package model

import (
	"fmt"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// TaintRule is a DeviceTaintRule: a taint for the devices that bear certain names.
type TaintRule struct {
	Name    string
	UID     types.UID
	Version uint64
	// Selects: there is a selector. Of its names, one that is empty means any.
	Selects              bool
	Driver, Pool, Device string
	Taint                resourcev1.DeviceTaint
}

// TaintRuleFrom takes from a DeviceTaintRule what placement needs.
func TaintRuleFrom(rule *resourcev1.DeviceTaintRule) *TaintRule {
	r := &TaintRule{Name: rule.Name, UID: rule.UID, Version: versionOf(rule), Taint: rule.Spec.Taint}
	if selector := rule.Spec.DeviceSelector; selector != nil {
		r.Selects = true
		for to, from := range map[*string]*string{&r.Driver: selector.Driver, &r.Pool: selector.Pool, &r.Device: selector.Device} {
			if from != nil {
				*to = *from
			}
		}
	}
	return r
}

// matchesPool says whether the rule can be about devices of the pool.
func (r *TaintRule) matchesPool(id PoolID) bool {
	return r.Selects && (r.Driver == "" || r.Driver == id.Driver) && (r.Pool == "" || r.Pool == id.Pool)
}

func (r *TaintRule) matches(id DeviceID) bool {
	return r.matchesPool(id.PoolID()) && (r.Device == "" || r.Device == id.Device)
}

func sameTaintRule(a, b *TaintRule) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	x.Version, y.Version = 0, 0
	x.Taint.TimeAdded, y.Taint.TimeAdded = nil, nil
	return x == y
}

// Bars says whether devices with the taint may not be given to those who do not tolerate it.
func Bars(taint *resourcev1.DeviceTaint) bool {
	return taint.Effect == resourcev1.DeviceTaintEffectNoSchedule || taint.Effect == resourcev1.DeviceTaintEffectNoExecute
}

// Tolerated says whether one of the tolerations is for the taint.
func Tolerated(taint *resourcev1.DeviceTaint, tolerations []resourcev1.DeviceToleration) bool {
	return slices.ContainsFunc(tolerations, func(t resourcev1.DeviceToleration) bool {
		return resourceclaim.ToleratesTaint(t, *taint)
	})
}

// TaintText is a taint for people: key=value:effect.
func TaintText(taint *resourcev1.DeviceTaint) string {
	if taint.Value == "" {
		return fmt.Sprintf("%s:%s", taint.Key, taint.Effect)
	}
	return fmt.Sprintf("%s=%s:%s", taint.Key, taint.Value, taint.Effect)
}

// RuleTaints are the rules that are about devices of one pool, by name. They are never changed: other rules make other
// RuleTaints, so that the address can stand for them. nil are no rules.
type RuleTaints struct {
	all []*TaintRule            // for every device
	one map[string][]*TaintRule // by device
}

// Each calls f with the rules that are about a device, until it answers false.
func (t *RuleTaints) Each(device string, f func(*TaintRule) bool) {
	if t == nil {
		return
	}
	for _, list := range [][]*TaintRule{t.all, t.one[device]} {
		for _, rule := range list {
			if !f(rule) {
				return
			}
		}
	}
}

// with has the rule beside, or instead of one of the same name; without lacks it.
func (t *RuleTaints) with(rule *TaintRule) *RuleTaints {
	more := t.without(rule.Name).clone()
	list := more.all
	if rule.Device != "" {
		list = more.one[rule.Device]
	}
	at, _ := slices.BinarySearchFunc(list, rule.Name, func(r *TaintRule, name string) int { return compareStrings(r.Name, name) })
	list = slices.Insert(slices.Clone(list), at, rule)
	if rule.Device != "" {
		more.one[rule.Device] = list
	} else {
		more.all = list
	}
	return more
}

func (t *RuleTaints) without(name string) *RuleTaints {
	if t == nil {
		return nil
	}
	less := &RuleTaints{one: make(map[string][]*TaintRule, len(t.one))}
	other := func(list []*TaintRule) []*TaintRule {
		return slices.DeleteFunc(slices.Clone(list), func(r *TaintRule) bool { return r.Name == name })
	}
	less.all = other(t.all)
	for device, list := range t.one {
		if list = other(list); len(list) > 0 {
			less.one[device] = list
		}
	}
	if len(less.all)+len(less.one) == 0 {
		return nil
	}
	return less
}

func (t *RuleTaints) clone() *RuleTaints {
	c := &RuleTaints{one: map[string][]*TaintRule{}}
	if t != nil {
		c.all = t.all
		for device, list := range t.one {
			c.one[device] = list
		}
	}
	return c
}
