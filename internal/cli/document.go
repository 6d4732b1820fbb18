package cli

import (
	"encoding/json"
	"strings"
)

// document is a piece of a file.
type document struct {
	line int // of the file, where text begins
	text string
}

// split cuts a file at the marks between YAML documents, and a row of JSON values into these.
func split(text string) []document {
	if docs, ok := splitJSON(text); ok {
		return docs
	}
	var out []document
	current := document{line: 1}
	for i, line := range strings.SplitAfter(text, "\n") {
		rest, mark := afterMark(line)
		if !mark {
			current.text += line
			continue
		}
		out = append(out, current)
		current = document{line: i + 1, text: rest}
	}
	return trim(append(out, current))
}

// afterMark recognizes "---" and "..." at the beginning of a line. What stands behind a mark belongs to the next document; spaces take the
// mark's place, so that columns stay.
func afterMark(line string) (rest string, mark bool) {
	for _, m := range []string{"---", "..."} {
		if rest, ok := strings.CutPrefix(line, m); ok && (rest == "" || strings.ContainsAny(rest[:1], " \t\r\n")) {
			return "   " + rest, true
		}
	}
	return "", false
}

// trim moves the beginning of each document past empty lines and comments.
func trim(docs []document) []document {
	for i := range docs {
		for {
			line, rest, more := strings.Cut(docs[i].text, "\n")
			line = strings.TrimSpace(line)
			if !more || line != "" && !strings.HasPrefix(line, "#") {
				break
			}
			docs[i].text = rest
			docs[i].line++
		}
	}
	return docs
}

// splitJSON cuts a row of JSON objects; it is false when text is something else.
func splitJSON(text string) ([]document, bool) {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return nil, false
	}
	var out []document
	decoder := json.NewDecoder(strings.NewReader(text))
	for decoder.More() {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return nil, false
		}
		begin := int(decoder.InputOffset()) - len(raw)
		out = append(out, document{line: 1 + strings.Count(text[:begin], "\n"), text: string(raw)})
	}
	return out, true
}
