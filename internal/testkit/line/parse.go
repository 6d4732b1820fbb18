package line

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var span = regexp.MustCompile(`\{(\d+)\.\.(\d+)\}`)

// expand returns a line for each number of a range. All ranges of a line have the same number.
func expand(text string) []string {
	found := span.FindStringSubmatch(text)
	if found == nil {
		return []string{text}
	}
	first, _ := strconv.Atoi(found[1])
	last, _ := strconv.Atoi(found[2])
	var lines []string
	for i := first; i <= last; i++ {
		lines = append(lines, span.ReplaceAllString(text, strconv.Itoa(i)))
	}
	return lines
}

// parse reads one line.
func parse(text string) (*Line, error) {
	words, err := split(text)
	if err != nil {
		return nil, err
	}
	l := &Line{Verb: words[0], args: map[string][]string{}, read: map[string]bool{}}
	for i, word := range words[1:] {
		key, value, isArg := strings.Cut(word, "=")
		switch {
		case isArg:
			l.args[key] = append(l.args[key], value)
		case i == 0:
			l.name = word
			fallthrough
		default:
			l.words = append(l.words, word)
		}
	}
	return l, nil
}

// split returns the words of a line, without the quotes.
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
		return nil, errEmpty
	}
	return words, nil
}
