package picture

import (
	"slices"
	"strings"
)

// Kind is a driver and the DeviceClasses that a device of it matches.
type Kind struct {
	Driver  string   `json:"driver"`
	Classes []string `json:"classes,omitempty"`
}

// kindTable numbers kinds. Kinds keep their numbers.
type kindTable struct {
	kinds   []Kind
	numbers map[string]int
}

func newKindTable(kinds []Kind) *kindTable {
	t := &kindTable{kinds: slices.Clip(kinds), numbers: map[string]int{}}
	for i, kind := range kinds {
		t.numbers[kind.key()] = i
	}
	return t
}

func (k Kind) key() string { return k.Driver + " " + strings.Join(k.Classes, " ") }

// index returns the number of a kind.
func (t *kindTable) index(kind Kind) int {
	key := kind.key()
	i, ok := t.numbers[key]
	if !ok {
		i = len(t.kinds)
		t.kinds, t.numbers[key] = append(t.kinds, kind), i
	}
	return i
}
