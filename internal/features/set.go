package features

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Set says which features are on. The zero value has all of them on.
type Set struct {
	// said has a bit for each gate that was switched off; off has those too that build upon one of them.
	said, off uint64
}

// On says whether a feature is on.
func (s Set) On(g Gate) bool { return s.off&(1<<g) == 0 }

// Without has some features off, and those that build upon them.
func (s Set) Without(list ...Gate) Set {
	for _, g := range list {
		s.said |= 1 << g
	}
	s.off |= s.said
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

// String lists what is off, as --feature-gates takes it.
func (s *Set) String() string {
	var out []string
	for g := range gates {
		if !s.On(g) {
			out = append(out, g.String()+"=false")
		}
	}
	return strings.Join(out, ",")
}

// Type is the kind of the flag.
func (*Set) Type() string { return "name=bool,…" }

// Set switches what text says, as in "A=false,B=true". AllAlpha and AllBeta stand for all of their stage, and give way to
// what is named. To switch on what builds upon a feature that is off is an error.
func (s *Set) Set(text string) error {
	wanted, err := parse(text)
	if err != nil {
		return err
	}
	var off []Gate
	for g := range gates {
		on, said := wanted[g]
		if (said && !on) || (!said && s.said&(1<<g) != 0) {
			off = append(off, g)
		}
	}
	switched := Set{}.Without(off...)
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

// parse answers what text says of each gate.
func parse(text string) (map[Gate]bool, error) {
	stages, named := map[Gate]bool{}, map[Gate]bool{}
	for _, item := range strings.Split(text, ",") {
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
		found, all := find(strings.TrimSpace(name))
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

// find is the gate of a name, or all gates of a stage.
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

// Known lists the features that can be switched, one a line, as a help text does.
func Known() []string {
	out := []string{"  AllAlpha=true|false", "  AllBeta=true|false"}
	for g := range gates {
		d := describe(g)
		line := fmt.Sprintf("  %s=true|false (%s - default=true)", d.name, d.stage)
		if d.alias != "" {
			line += ", also " + d.alias
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}
