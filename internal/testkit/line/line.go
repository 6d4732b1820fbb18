package line

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/datadriven"
)

// Line is a verb with its arguments. It records which of them are read, and the first error.
type Line struct {
	Verb  string
	Input string // the input lines of a command

	name  string
	words []string // without "=", in order; the first is the name if no argument precedes it
	args  map[string][]string
	read  map[string]bool // words and keys
	err   error
}

// Command returns the line of a command.
func Command(d *datadriven.TestData) (*Line, error) {
	l, err := parse(d.FullCmd())
	if err != nil {
		return nil, err
	}
	l.Input = d.Input
	return l, nil
}

// Name returns the word after the verb, or "".
func (l *Line) Name() string {
	l.read[l.name] = true
	return l.name
}

// Names returns the words that have not been read, in order.
func (l *Line) Names() []string {
	names := slices.DeleteFunc(slices.Clone(l.words), func(word string) bool { return l.read[word] })
	for _, name := range names {
		l.read[name] = true
	}
	return names
}

// Has reports whether the line has the key, with a value or as a flag.
func (l *Line) Has(key string) bool {
	l.read[key] = true
	return len(l.args[key]) > 0 || slices.Contains(l.words, key)
}

// Text returns the last value of the key, or otherwise.
func (l *Line) Text(key, otherwise string) string {
	if values := l.All(key); len(values) > 0 {
		return values[len(values)-1]
	}
	return otherwise
}

// All returns all values of the key, in order.
func (l *Line) All(key string) []string {
	l.read[key] = true
	return l.args[key]
}

// List returns the parts of the key's value, which commas separate.
func (l *Line) List(key string) []string {
	text := l.Text(key, "")
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// Keys returns the keys that have a value, in alphabetical order. They are not read by that.
func (l *Line) Keys() []string { return slices.Sorted(maps.Keys(l.args)) }

// Number returns the value of the key as a number, or otherwise.
func (l *Line) Number(key string, otherwise int64) int64 {
	text := l.Text(key, "")
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		l.Failf("%s: %w", key, err)
	}
	return n
}

// Int32 returns the value of the key as a number, or otherwise.
func (l *Line) Int32(key string, otherwise int32) int32 {
	return int32(l.Number(key, int64(otherwise)))
}

// Duration returns the value of the key as a duration, or 0.
func (l *Line) Duration(key string) time.Duration {
	text := l.Text(key, "")
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		l.Failf("%s: %w", key, err)
	}
	return d
}

// Set replaces the values of a key.
func (l *Line) Set(key string, values ...string) { l.args[key] = values }

// Unset removes a key, whether it has a value or is a flag.
func (l *Line) Unset(key string) {
	delete(l.args, key)
	l.words = slices.DeleteFunc(l.words, func(word string) bool { return word == key })
}

// Add adds the arguments of another line that have not been read there. A key replaces the one of
// the same name, and is removed if its value is "-".
func (l *Line) Add(other *Line) {
	for _, key := range other.Keys() {
		switch read := other.read[key]; {
		case read:
		case other.Text(key, "") == "-":
			l.Unset(key)
		default:
			l.Set(key, other.All(key)...)
		}
	}
	l.words = append(l.words, other.Names()...)
}

// Failf records an error; the first one counts.
func (l *Line) Failf(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

// Err returns the first error, or an error if an argument has not been read.
func (l *Line) Err() error {
	if l.err != nil {
		return l.err
	}
	for _, word := range slices.Concat(l.words, l.Keys()) {
		if !l.read[word] {
			return fmt.Errorf("unknown argument %q", word)
		}
	}
	return nil
}

// Run calls the handler of the verb of each line.
func Run(input string, verbs map[string]func(*Line) error) error {
	for text := range strings.SplitSeq(input, "\n") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		for _, text := range expand(text) {
			l, err := parse(text)
			if err != nil {
				return err
			}
			verb, ok := verbs[l.Verb]
			if !ok {
				return fmt.Errorf("no verb %q", l.Verb)
			}
			if err := l.do(verb); err != nil {
				return err
			}
		}
	}
	return nil
}

// do calls the handler of a line.
func (l *Line) do(verb func(*Line) error) error {
	err := verb(l)
	if err == nil {
		err = l.Err()
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", l.Verb, l.name, err)
	}
	return nil
}

var errEmpty = errors.New("empty line")
