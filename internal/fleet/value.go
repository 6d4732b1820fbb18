package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// value is a node of a YAML document with its path, for error messages.
type value struct {
	node     *yaml.Node
	path     string
	problems *[]error
}

// entry is a key of a mapping with its value.
type entry struct {
	key string
	value
}

// root reads a document. It fails only if the text is not YAML.
func root(data []byte, problems *[]error) (value, error) {
	var doc, second yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(data))
	err := documents.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return value{}, errors.New("the document is empty")
	}
	if err == nil {
		err = documents.Decode(&second)
	}
	switch {
	case err == nil && second.Content[0].Tag != "!!null":
		return value{}, fmt.Errorf("line %d: a fleet is one document, this is a second one", second.Content[0].Line)
	case err != nil && !errors.Is(err, io.EOF):
		return value{}, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return value{node: doc.Content[0], problems: problems}, nil
}

func (v value) complain(format string, args ...any) {
	where := ""
	if v.path != "" {
		where = v.path + ": "
	}
	*v.problems = append(*v.problems, fmt.Errorf("line %d: %s%s", v.node.Line, where, fmt.Sprintf(format, args...)))
}

func (v value) child(node *yaml.Node, step string) value {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	path := v.path + step
	if v.path == "" {
		path = strings.TrimPrefix(step, ".")
	}
	return value{node: node, path: path, problems: v.problems}
}

// entries returns the entries of a mapping in order, and reports duplicate keys.
func (v value) entries() []entry {
	if v.node.Kind != yaml.MappingNode {
		v.complain("must be a mapping, is %s", kindOf(v.node))
		return nil
	}
	var out []entry
	seen := map[string]bool{}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key := v.node.Content[i]
		e := entry{key.Value, v.child(v.node.Content[i+1], "."+key.Value)}
		if seen[e.key] {
			e.complain("stands twice")
			continue
		}
		seen[e.key] = true
		out = append(out, e)
	}
	return out
}

// fields reads a mapping with known keys, and reports unknown ones.
func (v value) fields(known map[string]func(value)) {
	for _, e := range v.entries() {
		read, ok := known[e.key]
		if !ok {
			names := make([]string, 0, len(known))
			for name := range known {
				names = append(names, name)
			}
			slices.Sort(names)
			e.complain("unknown field; there are %s", strings.Join(names, ", "))
			continue
		}
		read(e.value)
	}
}

func (v value) items() []value {
	if v.node.Kind != yaml.SequenceNode {
		v.complain("must be a list, is %s", kindOf(v.node))
		return nil
	}
	out := make([]value, 0, len(v.node.Content))
	for i, node := range v.node.Content {
		out = append(out, v.child(node, "["+strconv.Itoa(i)+"]"))
	}
	return out
}

// text reads a scalar as text; numbers and booleans need no quotes.
func (v value) text() string {
	if v.node.Kind != yaml.ScalarNode || v.node.Tag == "!!null" {
		v.complain("must be a text, is %s", kindOf(v.node))
		return ""
	}
	return v.node.Value
}

// number reads an integer in [low, high], or returns low if it is missing.
func (v value) number(low, high int) int { //nolint:unparam // MaxNodes and MaxDevices happen to be equal
	n, err := strconv.Atoi(v.node.Value)
	if v.node.Kind != yaml.ScalarNode || err != nil {
		v.complain("must be a whole number, is %s", kindOf(v.node))
		return low
	}
	if n < low || n > high {
		v.complain("must be in the range %d to %d, is %d", low, high, n)
		return low
	}
	return n
}

func kindOf(node *yaml.Node) string {
	switch {
	case node.Kind == yaml.MappingNode:
		return "a mapping"
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case node.Tag == "!!null":
		return "empty"
	default:
		return strconv.Quote(node.Value)
	}
}
