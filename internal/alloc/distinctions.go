package alloc

import "strconv"

// distinctions are the differences between devices that matter: selections, which match only one of
// them, and attributes.
type distinctions struct {
	selections []*selection // distinct selections of the requests
	// otherSelections are the selections of other Problems: devices that they distinguish are not
	// interchangeable, and devices that fewer of them match are used first.
	otherSelections []*selection
	// attributes has those that constraints compare, followed by those of other Problems.
	attributes []attribute
	cachedKey  string // see kindsKey; "" until it is computed
}

// addSelection returns the index of a selection, which it adds if it is missing.
func (d *distinctions) addSelection(selection *selection) int {
	for i, known := range d.selections {
		if known.key == selection.key {
			return i
		}
	}
	d.selections = append(d.selections, selection)
	return len(d.selections) - 1
}

// addAttribute returns the index of an attribute, which it adds if it is missing.
func (d *distinctions) addAttribute(a attribute) int {
	for i := range d.attributes {
		if d.attributes[i].key() == a.key() {
			return i
		}
	}
	d.attributes = append(d.attributes, a)
	return len(d.attributes) - 1
}

// addAll adds the selections and attributes of other Problems.
func (d *distinctions) addAll(others []*Problem) {
	d.cachedKey = ""
	known := map[string]bool{}
	for _, own := range d.selections {
		known[own.key] = true
	}
	for _, other := range others {
		for _, selection := range other.selections {
			if !known[selection.key] {
				known[selection.key] = true
				d.otherSelections = append(d.otherSelections, selection)
			}
		}
		for i := range other.eligibilities {
			for _, attribute := range other.eligibilities[i].attributes {
				d.addAttribute(other.attributes[attribute])
			}
		}
	}
}

// kindsKey returns a string that is equal for Problems that divide pools into the same kinds.
// mixesAdminAccess is the same in all calls.
func (d *distinctions) kindsKey(mixesAdminAccess bool) string {
	if d.cachedKey == "" {
		b := make([]byte, 0, 256)
		add := func(text string) { b = append(append(strconv.AppendInt(b, int64(len(text)), 10), ':'), text...) }
		for _, selection := range d.selections {
			add(selection.key)
		}
		add("")
		for _, selection := range d.otherSelections {
			add(selection.key)
		}
		add("")
		for i := range d.attributes {
			add(d.attributes[i].key())
		}
		d.cachedKey = string(strconv.AppendBool(b, mixesAdminAccess))
	}
	return d.cachedKey
}
