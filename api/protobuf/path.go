package protobuf

import (
	"errors"
	"slices"
	"strings"
)

// pathError is an error with the path of fields to it. It grows by one name per level: wrapping the
// error at each level would copy the text each time, which is a gigabyte in a message with ten
// thousand levels.
type pathError struct {
	path []string // innermost first
	err  error
}

// maxPath is the maximum number of outer names in an error.
const maxPath = 16

// within adds the name of the enclosing field or item to an error.
func within(name string, err error) error {
	var inner *pathError
	if !errors.As(err, &inner) {
		inner = &pathError{err: err}
	}
	inner.path = append(inner.path, name)
	return inner
}

func (e *pathError) Error() string {
	outer := slices.Clone(e.path[max(0, len(e.path)-maxPath):])
	slices.Reverse(outer)
	return "protobuf: " + strings.Join(outer, "") + ": " + e.err.Error()
}

func (e *pathError) Unwrap() error { return e.err }
