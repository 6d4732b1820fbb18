package protobuf

import (
	"errors"
	"slices"
	"strings"
)

// pathError is an error with the fields that lead to it. It grows by one name a level, where wrapping level by level
// would copy the text each time: in a message nested ten thousand times that is a gigabyte.
type pathError struct {
	path []string // innermost first
	err  error
}

// maxPath is the number of outer names that an error shows.
const maxPath = 16

// within adds the name of the field or item around an error.
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
