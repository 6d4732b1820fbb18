package fleet

import (
	"fmt"
	"strconv"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/version"
)

// The types of an attribute, spelled as in a ResourceSlice.
const (
	TypeString  = "string"
	TypeInt     = "int"
	TypeBool    = "bool"
	TypeVersion = "version"
)

// Attribute is a typed value, or a list of values, as text with placeholders.
type Attribute struct {
	Type   string
	Values []string // one value, unless List is set
	List   bool
}

// placeholderNames are the placeholders permitted in texts of a device.
var placeholderNames = []string{"{index}", "{node}", "{rack}", "{unit}"}

// place identifies a device for the substitution of placeholders.
type place struct {
	node, rack string // empty in a network pool
	unit       string // empty but for devices of a unit
	index      int
}

func (p place) fill(text string) string {
	if !strings.Contains(text, "{") {
		return text
	}
	return strings.NewReplacer(
		"{index}", strconv.Itoa(p.index), "{node}", p.node, "{rack}", p.rack, "{unit}", p.unit,
	).Replace(text)
}

// valueAt returns the attribute of the device at p. It fails if the result of the substitution is
// not a value of the type.
func (a Attribute) valueAt(p place) (resourcev1.DeviceAttribute, error) {
	switch a.Type {
	case TypeInt:
		values, err := fillAll(a, p, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) })
		if a.List || err != nil {
			return resourcev1.DeviceAttribute{IntValues: values}, err
		}
		return resourcev1.DeviceAttribute{IntValue: &values[0]}, nil
	case TypeBool:
		values, err := fillAll(a, p, parseBool)
		if a.List || err != nil {
			return resourcev1.DeviceAttribute{BoolValues: values}, err
		}
		return resourcev1.DeviceAttribute{BoolValue: &values[0]}, nil
	case TypeVersion:
		values, err := fillAll(a, p, parseVersion)
		if a.List || err != nil {
			return resourcev1.DeviceAttribute{VersionValues: values}, err
		}
		return resourcev1.DeviceAttribute{VersionValue: &values[0]}, nil
	default:
		values, err := fillAll(a, p, func(s string) (string, error) { return s, nil })
		if a.List || err != nil {
			return resourcev1.DeviceAttribute{StringValues: values}, err
		}
		return resourcev1.DeviceAttribute{StringValue: &values[0]}, nil
	}
}

func fillAll[T any](a Attribute, p place, parse func(string) (T, error)) ([]T, error) {
	values := make([]T, 0, len(a.Values))
	for _, text := range a.Values {
		filled := p.fill(text)
		if len(filled) > resourcev1.DeviceAttributeMaxValueLength {
			return nil, fmt.Errorf("%q is longer than %d bytes", filled, resourcev1.DeviceAttributeMaxValueLength)
		}
		v, err := parse(filled)
		if err != nil {
			return nil, fmt.Errorf("%q is no %s", filled, a.Type)
		}
		values = append(values, v)
	}
	return values, nil
}

func parseBool(s string) (bool, error) {
	if s != "true" && s != "false" {
		return false, strconv.ErrSyntax
	}
	return s == "true", nil
}

func parseVersion(s string) (string, error) {
	if strings.HasPrefix(s, "v") {
		return "", strconv.ErrSyntax
	}
	_, err := version.ParseSemantic(s)
	return s, err
}
