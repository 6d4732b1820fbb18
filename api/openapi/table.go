package openapi

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

//go:embed facts.txt
var upstreamFacts string

//go:embed own.txt
var ownFacts string

// table has the content of comment markers about types; see the start of facts.txt for the format.
type table struct {
	packages map[string]bool             // import paths that were read
	enums    map[string][]any            // import path and name of a string type -> its values, sorted
	types    map[string]facts            // model -> of the struct itself
	fields   map[string]map[string]facts // model -> Go name of a field -> of the field
}

// facts has the markers of one struct or field.
type facts struct {
	extensions    spec.Extensions
	union         bool
	discriminator bool
	required      bool   // although the JSON tag has omitempty
	optional      bool   // although it has not
	defaultJSON   string // "": none
}

// parseTable parses tables. A struct may occur only once in them.
func parseTable(texts ...string) (*table, error) {
	t := &table{
		packages: map[string]bool{}, enums: map[string][]any{},
		types: map[string]facts{}, fields: map[string]map[string]facts{},
	}
	model := ""
	for number, line := range strings.Split(strings.Join(texts, "\n"), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := t.addLine(line, &model); err != nil {
			return nil, fmt.Errorf("facts line %d: %q: %w", number+1, line, err)
		}
	}
	return t, nil
}

// addLine parses one line. model is the struct of the following fields.
func (t *table) addLine(line string, model *string) error {
	words := strings.Fields(line)
	if strings.HasPrefix(line, "\t") {
		if *model == "" || len(words) == 0 {
			return errors.New("no type above, or no field")
		}
		f, err := parseFacts(words[1:])
		t.fields[*model][words[0]] = f
		return err
	}
	if len(words) < 2 {
		return errors.New("want two words")
	}
	switch words[0] {
	case "package":
		t.packages[words[1]] = true
	case "enum":
		_, rest, _ := strings.Cut(line, words[1])
		values, err := quotedValues(rest)
		t.enums[words[1]] = append(t.enums[words[1]], values...)
		return err
	case "type":
		*model = words[1]
		if _, ok := t.types[*model]; ok {
			return errors.New("again")
		}
		f, err := parseFacts(words[2:])
		t.types[*model], t.fields[*model] = f, map[string]facts{}
		return err
	case "added": // to a struct of upstream
		*model = words[1]
		if _, ok := t.types[*model]; !ok {
			t.types[*model], t.fields[*model] = facts{}, map[string]facts{}
		}
		return nil
	default:
		return fmt.Errorf("unknown word %s", words[0])
	}
	return nil
}

// quotedValues parses quoted texts, which may have spaces.
func quotedValues(text string) ([]any, error) {
	var out []any
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return nil, err
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		out, text = append(out, value), text[len(quoted):]
	}
	return out, nil
}

func parseFacts(words []string) (facts, error) {
	f := facts{extensions: spec.Extensions{}}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "list":
			f.extensions["x-kubernetes-list-type"] = value
		case "key":
			keys, _ := f.extensions["x-kubernetes-list-map-keys"].([]any)
			f.extensions["x-kubernetes-list-map-keys"] = append(keys, value)
		case "map", "struct":
			f.extensions["x-kubernetes-map-type"] = value
		case "default":
			if err := json.Unmarshal([]byte(value), new(any)); err != nil {
				return f, err
			}
			f.defaultJSON = value
		case "union":
			f.union = true
		case "discriminator":
			f.discriminator = true
		case "required":
			f.required = true
		case "optional":
			f.optional = true
		default:
			return f, fmt.Errorf("unknown fact %s", word)
		}
	}
	return f, nil
}

// defaultValue returns a new copy of the default, or nil. A whole number is an int, as in generated
// code.
func (f facts) defaultValue() any {
	var v any
	if f.defaultJSON == "" || json.Unmarshal([]byte(f.defaultJSON), &v) != nil { // parseFacts has checked it
		return nil
	}
	if number, ok := v.(float64); ok && number == float64(int(number)) {
		return int(number)
	}
	return v
}

// enum returns the values of a type, or nil if it is not an enum.
func (t *table) enum(of reflect.Type) []any { return t.enums[of.PkgPath()+"."+of.Name()] }
