package cli

import (
	"encoding/json"
	"strings"
)

// document is one document of a file.
type document struct {
	line int // the line of the file at which text begins
	text string
}

// split splits a file into YAML documents, or into the values of a sequence of JSON values.
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

// afterMark recognizes "---" and "..." at the beginning of a line. The text after a mark belongs to
// the next document. Spaces replace the mark, so that column numbers stay correct.
func afterMark(line string) (rest string, mark bool) {
	for _, m := range []string{"---", "..."} {
		if rest, ok := strings.CutPrefix(line, m); ok && (rest == "" || strings.ContainsAny(rest[:1], " \t\r\n")) {
			return "   " + rest, true
		}
	}
	return "", false
}

// trim removes empty lines and comments from the beginning of each document.
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

// splitJSON splits a sequence of JSON objects. It reports whether text is one.
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
