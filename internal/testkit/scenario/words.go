package scenario

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// line is a verb, a name and arguments; an argument can be repeated.
type line struct {
	verb string
	name string
	args map[string][]string
}

// one returns the last value of an argument, or the default.
func (l *line) one(key, otherwise string) string {
	if values := l.args[key]; len(values) > 0 {
		return values[len(values)-1]
	}
	return otherwise
}

func (l *line) has(key string) bool { return len(l.args[key]) > 0 }

func (l *line) number(key string, otherwise int64) (int64, error) {
	if !l.has(key) {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(l.one(key, ""), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w", l.verb, l.name, err)
	}
	return n, nil
}

var span = regexp.MustCompile(`\{(\d+)\.\.(\d+)\}`)

// expand returns a line for each number of a range. All ranges of a line have the same number.
func expand(text string) ([]string, error) {
	found := span.FindStringSubmatch(text)
	if found == nil {
		return []string{text}, nil
	}
	first, err := strconv.Atoi(found[1])
	if err != nil {
		return nil, err
	}
	last, err := strconv.Atoi(found[2])
	if err != nil {
		return nil, err
	}
	var lines []string
	for i := first; i <= last; i++ {
		lines = append(lines, span.ReplaceAllString(text, strconv.Itoa(i)))
	}
	return lines, nil
}

// parse reads a line: words, in which 'quoted parts' may contain blanks. A word without "=" after
// the name is an argument without a value.
func parse(text string) (*line, error) {
	words, err := split(text)
	if err != nil {
		return nil, err
	}
	l := &line{verb: words[0], args: map[string][]string{}}
	for i, word := range words[1:] {
		key, value, isArg := strings.Cut(word, "=")
		switch {
		case i == 0 && !isArg:
			l.name = word
		default:
			l.args[key] = append(l.args[key], value)
		}
	}
	return l, nil
}

func split(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quoted := false, false
	for _, r := range text {
		switch {
		case r == '\'':
			quoted, inWord = !quoted, true
		case (r == ' ' || r == '\t') && !quoted:
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("unclosed quote in %q", text)
	}
	if inWord {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("empty line")
	}
	return words, nil
}
