package protobuf

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxNumber is the highest field number that protobuf allows.
const maxNumber = 1<<29 - 1

// planner creates the plan of a type and of all types in it.
type planner struct {
	walks func(reflect.Type) bool
	plans map[reflect.Type]*plan // started or done, so that a recursive type, such as Workload, finds its plan
}

// plan returns the plan of a struct type.
func (pl *planner) plan(t reflect.Type) (*plan, error) {
	if p, ok := pl.plans[t]; ok {
		return p, nil
	}
	p := &plan{}
	pl.plans[t] = p
	for field := range t.Fields() {
		if err := pl.add(p, field); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t, field.Name, err)
		}
	}
	slices.SortFunc(p.fields, func(a, b *field) int { return cmp.Compare(a.number, b.number) })
	return p, uniqueNumbers(t)
}

func (pl *planner) add(p *plan, sf reflect.StructField) error {
	tag, tagged := sf.Tag.Lookup("protobuf")
	switch {
	case isTypeMeta(sf.Type) || tag == "-" || !tagged && !sf.Anonymous:
		return nil
	case !sf.IsExported():
		return fmt.Errorf("protobuf: %s is not exported", sf.Name)
	case !tagged:
		return pl.addEmbed(p, sf)
	}
	number, err := parseTag(tag)
	if err != nil {
		return err
	}
	s, err := pl.shape(sf.Type)
	if err != nil {
		return err
	}
	k := make([]byte, varintSize(key(number, s.wire())))
	putVarint(k, len(k), key(number, s.wire()))
	p.fields = append(p.fields, &field{
		name: sf.Name, index: sf.Index[0], number: number, key: k, shape: s,
	})
	return nil
}

func (pl *planner) addEmbed(p *plan, sf reflect.StructField) error {
	if sf.Type.Kind() != reflect.Struct {
		return fmt.Errorf("protobuf: embedded %s is not a struct", sf.Type)
	}
	e, err := pl.message(sf.Type)
	if err != nil {
		return err
	}
	embedded := embed{index: sf.Index[0]}
	if s, ok := e.(structElement); ok {
		embedded.plan = s.plan
	}
	p.embeds = append(p.embeds, embedded)
	return nil
}

// shape returns the shape of a field's type.
func (pl *planner) shape(t reflect.Type) (shape, error) {
	if t.Kind() == reflect.Slice && isMessage(t) {
		return unlessNil{messageElement{}}, nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		e, err := pl.element(t.Elem())
		return pointer{e}, err
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return nil, fmt.Errorf("protobuf: %s has keys that are not strings", t)
		}
		e, err := pl.element(t.Elem())
		if t == stringMapType {
			return stringMap{mapping{e}}, err
		}
		return mapping{e}, err
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return unlessNil{bytesElement{}}, nil
		}
		e, err := pl.element(t.Elem())
		return list{e}, err
	default:
		e, err := pl.element(t)
		return always{e}, err
	}
}

func (pl *planner) element(t reflect.Type) (element, error) {
	switch kind := t.Kind(); kind {
	case reflect.String:
		return stringElement{}, nil
	case reflect.Bool:
		return boolElement{}, nil
	case reflect.Int, reflect.Int32, reflect.Int64:
		return intElement{}, nil
	case reflect.Uint32, reflect.Uint64:
		return uintElement{}, nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return bytesElement{}, nil
		}
		if isMessage(t) {
			return messageElement{}, nil
		}
	case reflect.Struct:
		return pl.message(t)
	}
	return nil, fmt.Errorf("protobuf: no encoding for %s", t)
}

// message returns the element of a struct type.
func (pl *planner) message(t reflect.Type) (element, error) {
	if pl.walks(t) {
		p, err := pl.plan(t)
		return structElement{p}, err
	}
	if !isMessage(t) {
		return nil, fmt.Errorf("protobuf: %s has no generated methods", t)
	}
	return messageElement{}, nil
}

func isMessage(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[Message]())
}

func isTypeMeta(t reflect.Type) bool {
	return t == reflect.TypeFor[metav1.TypeMeta]() || t == reflect.TypeFor[runtime.TypeMeta]()
}

// parseTag returns the number in a tag such as "bytes,1,opt,name=metadata". The rest is determined
// by the Go type, as in upstream's generator: in upstream's types it is sometimes wrong ("bytes"
// for an int32).
func parseTag(tag string) (int32, error) {
	parts := strings.SplitN(tag, ",", 3)
	if len(parts) < 2 {
		return 0, fmt.Errorf("protobuf: tag %q has no field number", tag)
	}
	number, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil || number < 1 || number > maxNumber {
		return 0, fmt.Errorf("protobuf: tag %q has no valid field number", tag)
	}
	return int32(number), nil
}

// uniqueNumbers checks that no number is used twice in the message of t, including those of
// embedded structs: two decoders would use it.
func uniqueNumbers(t reflect.Type) error {
	seen := map[int32]string{}
	var walk func(t reflect.Type) error
	walk = func(t reflect.Type) error {
		for sf := range t.Fields() {
			tag, tagged := sf.Tag.Lookup("protobuf")
			if !tagged && sf.Anonymous && !isTypeMeta(sf.Type) {
				if err := walk(sf.Type); err != nil {
					return err
				}
			}
			if !tagged || tag == "-" {
				continue
			}
			number, err := parseTag(tag)
			if err != nil {
				return err
			}
			if other, ok := seen[number]; ok {
				return fmt.Errorf("protobuf: %s and %s of %s both have number %d", other, sf.Name, t, number)
			}
			seen[number] = sf.Name
		}
		return nil
	}
	return walk(t)
}
