package model

import (
	"fmt"
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// TaintRule is a DeviceTaintRule: a taint for devices that are selected by names.
type TaintRule struct {
	Name    string
	UID     types.UID
	Version uint64
	// Selects means that the rule has a selector. An empty name in it matches all.
	Selects              bool
	Driver, Pool, Device string
	Taint                resourcev1.DeviceTaint
}

// TaintRuleFrom converts a DeviceTaintRule.
func TaintRuleFrom(rule *resourcev1.DeviceTaintRule) *TaintRule {
	r := &TaintRule{Name: rule.Name, UID: rule.UID, Version: versionOf(rule), Taint: rule.Spec.Taint}
	if selector := rule.Spec.DeviceSelector; selector != nil {
		r.Selects = true
		for to, from := range map[*string]*string{&r.Driver: selector.Driver, &r.Pool: selector.Pool,
			&r.Device: selector.Device} {
			if from != nil {
				*to = *from
			}
		}
	}
	return r
}

// matchesPool reports whether the rule can apply to devices of the pool.
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

// PreventsAllocation reports whether a device with the taint can only be allocated to claims that
// tolerate it.
func PreventsAllocation(taint *resourcev1.DeviceTaint) bool {
	return taint.Effect == resourcev1.DeviceTaintEffectNoSchedule || taint.Effect == resourcev1.DeviceTaintEffectNoExecute
}

// Tolerated reports whether one of the tolerations tolerates the taint.
func Tolerated(taint *resourcev1.DeviceTaint, tolerations []resourcev1.DeviceToleration) bool {
	return slices.ContainsFunc(tolerations, func(t resourcev1.DeviceToleration) bool {
		return resourceclaim.ToleratesTaint(t, *taint)
	})
}

// TaintText formats a taint for messages: key=value:effect.
func TaintText(taint *resourcev1.DeviceTaint) string {
	if taint.Value == "" {
		return fmt.Sprintf("%s:%s", taint.Key, taint.Effect)
	}
	return fmt.Sprintf("%s=%s:%s", taint.Key, taint.Value, taint.Effect)
}

// RuleTaints contains the rules for devices of one pool, by name. It is never changed, so that its
// address identifies the version. nil contains no rules.
type RuleTaints struct {
	all      []*TaintRule            // rules for every device
	byDevice map[string][]*TaintRule // rules by device
}

// Each calls f with the rules for a device, until f returns false.
func (t *RuleTaints) Each(device string, f func(*TaintRule) bool) {
	if t == nil {
		return
	}
	for _, list := range [][]*TaintRule{t.all, t.byDevice[device]} {
		for _, rule := range list {
			if !f(rule) {
				return
			}
		}
	}
}

// withRule returns the rules with rule added, or replaced if there is one of the same name; without
// returns the rules without it.
func (t *RuleTaints) withRule(rule *TaintRule) *RuleTaints {
	more := t.withoutRule(rule.Name).clone()
	list := more.all
	if rule.Device != "" {
		list = more.byDevice[rule.Device]
	}
	at, _ := slices.BinarySearchFunc(list, rule.Name,
		func(r *TaintRule, name string) int { return compareStrings(r.Name, name) })
	list = slices.Insert(slices.Clone(list), at, rule)
	if rule.Device != "" {
		more.byDevice[rule.Device] = list
	} else {
		more.all = list
	}
	return more
}

func (t *RuleTaints) withoutRule(name string) *RuleTaints {
	if t == nil {
		return nil
	}
	less := &RuleTaints{byDevice: make(map[string][]*TaintRule, len(t.byDevice))}
	other := func(list []*TaintRule) []*TaintRule {
		return slices.DeleteFunc(slices.Clone(list), func(r *TaintRule) bool { return r.Name == name })
	}
	less.all = other(t.all)
	for device, list := range t.byDevice {
		if list = other(list); len(list) > 0 {
			less.byDevice[device] = list
		}
	}
	if len(less.all)+len(less.byDevice) == 0 {
		return nil
	}
	return less
}

func (t *RuleTaints) clone() *RuleTaints {
	c := &RuleTaints{byDevice: map[string][]*TaintRule{}}
	if t != nil {
		c.all = t.all
		maps.Copy(c.byDevice, t.byDevice)
	}
	return c
}
