package features

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Set is the set of enabled features. In the zero value all have their defaults.
type Set struct {
	// disabled has a bit for each gate that was disabled; off includes the gates that depend on
	// them.
	disabled, off uint64
	// enabled has a bit for each gate of optIn that was enabled.
	enabled uint64
}

// On reports whether a feature is enabled.
func (s Set) On(g Gate) bool { return (s.off|optIn&^s.enabled)&(1<<g) == 0 }

// All returns the Set with all features enabled.
func All() Set { return Set{enabled: optIn} }

// With returns the Set with some features enabled that are off by default.
func (s Set) With(list ...Gate) Set {
	for _, g := range list {
		s.enabled |= 1 << g & optIn
	}
	return s
}

// Without returns the Set with some features disabled, and those that depend on them.
func (s Set) Without(list ...Gate) Set {
	for _, g := range list {
		s.disabled |= 1 << g
	}
	s.off |= s.disabled
	for settled := false; !settled; {
		settled = true
		for g := range gates {
			if s.On(g) && slices.ContainsFunc(describe(g).needs, func(n Gate) bool { return !s.On(n) }) {
				s.off |= 1 << g
				settled = false
			}
		}
	}
	return s
}

// String lists the features that do not have their defaults in the syntax of --feature-gates.
func (s *Set) String() string {
	var out []string
	for g := range gates {
		if on := s.On(g); on != g.byDefault() {
			out = append(out, g.String()+"="+strconv.FormatBool(on))
		}
	}
	return strings.Join(out, ",")
}

// Type returns the type of the flag for its usage.
func (*Set) Type() string { return "name=bool,…" }

// Set parses a list such as "A=false,B=true". AllAlpha and AllBeta select all gates of a stage;
// named gates take precedence. Enabling a feature that depends on a disabled one is an error.
func (s *Set) Set(text string) error {
	wanted, err := parse(text)
	if err != nil {
		return err
	}
	var off, on []Gate
	for g := range gates {
		is, said := wanted[g]
		switch {
		case said && is, !said && s.enabled&(1<<g) != 0:
			on = append(on, g)
		case g.byDefault() && said, s.disabled&(1<<g) != 0:
			off = append(off, g)
		}
	}
	switched := Set{}.With(on...).Without(off...)
	for g := range gates {
		if wanted[g] && !switched.On(g) {
			return fmt.Errorf("%s cannot be on while %s is off", g, firstOff(switched, g))
		}
	}
	*s = switched
	return nil
}

func firstOff(s Set, g Gate) Gate {
	for _, n := range describe(g).needs {
		if !s.On(n) {
			return n
		}
	}
	return g
}

// parse returns the setting of each gate in text.
func parse(text string) (map[Gate]bool, error) {
	stages, named := map[Gate]bool{}, map[Gate]bool{}
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		name, value, ok := strings.Cut(item, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not of the form name=true or name=false", item)
		}
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		if err != nil {
			return nil, fmt.Errorf("%s: %q is neither true nor false", name, value)
		}
		name = strings.TrimSpace(name)
		if slices.Contains(lockedGates(), name) && !on {
			return nil, fmt.Errorf("cannot set feature gate %s to false, feature is locked to true", name)
		}
		if isWithoutEffect(name) {
			continue
		}
		found, all := find(name)
		if len(found) == 0 {
			return nil, fmt.Errorf("there is no feature %q; there are:\n%s", name, strings.Join(Known(), "\n"))
		}
		for _, g := range found {
			if all {
				stages[g] = on
			} else {
				named[g] = on
			}
		}
	}
	for g, on := range stages {
		if _, ok := named[g]; !ok {
			named[g] = on
		}
	}
	return named, nil
}

// find returns the gate with this name, or all gates of a stage.
func find(name string) (list []Gate, all bool) {
	stages := map[string]stage{"AllAlpha": alpha, "AllBeta": beta}
	for g := range gates {
		d := describe(g)
		if d.name == name || (d.alias != "" && d.alias == name) {
			return []Gate{g}, false
		}
		if s, ok := stages[name]; ok && d.stage == s {
			list = append(list, g)
		}
	}
	return list, true
}

// isWithoutEffect reports whether this is a gate of Kubernetes that switches nothing here.
func isWithoutEffect(name string) bool {
	_, known := gatesWithoutEffect()[name]
	return known || slices.Contains(lockedGates(), name)
}

// Known returns the feature gates, one per line, for a help text.
func Known() []string {
	out := []string{"  AllAlpha=true|false", "  AllBeta=true|false"}
	for g := range gates {
		d := describe(g)
		line := fmt.Sprintf("  %s=true|false (%s - default=%t)", d.name, d.stage, g.byDefault())
		if d.alias != "" {
			line += ", also " + d.alias
		}
		out = append(out, line)
	}
	for _, name := range lockedGates() {
		out = append(out, fmt.Sprintf("  %s=true (locked)", name))
	}
	for name, reason := range gatesWithoutEffect() {
		out = append(out, fmt.Sprintf("  %s=true|false (no effect: %s)", name, reason))
	}
	slices.Sort(out)
	return out
}
