package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Source is the position of a manifest.
type Source struct {
	File     string
	Line     int    // the first line of the document
	Document int    // the number of the document in its file, from 1
	Item     string // the position in a list, such as items[3]
}

func (s Source) String() string {
	text := fmt.Sprintf("%s:%d: document %d", s.File, s.Line, s.Document)
	if s.Item != "" {
		text += ": " + s.Item
	}
	return text
}

// Manifest is an object read from a file.
type Manifest struct {
	Source Source
	Object *unstructured.Unstructured
}

// ReadManifests reads files, directories (all *.yaml, *.yml and *.json files below them) and, for
// "-", stdin. A file has any number of documents in YAML or JSON; lists are expanded. The error
// contains all faults. Directories may hold other YAML files, such as the values of a chart: a file
// without any object is skipped, and skipped has a line about it.
func ReadManifests(paths []string, stdin io.Reader) (out []Manifest, skipped []string, err error) {
	var failed []error
	for _, path := range paths {
		files, err := filesOf(path)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		found := len(out)
		left := len(skipped)
		for _, file := range files {
			data, name, err := readFile(file, stdin)
			if err != nil {
				failed = append(failed, err)
				continue
			}
			if file != path && hasNoObject(data) {
				skipped = append(skipped, name+": left out: it has no Kubernetes object (no apiVersion and no kind)")
				continue
			}
			manifests, errs := parse(name, data)
			out = append(out, manifests...)
			failed = append(failed, errs...)
			if len(manifests)+len(errs) == 0 {
				failed = append(failed, fmt.Errorf("%s: has no document", name))
			}
		}
		if len(failed) == 0 && len(out) == found && len(skipped) > left {
			failed = append(failed, fmt.Errorf("%s: no file in it has a Kubernetes object", path))
		}
	}
	if len(failed) > 0 {
		return nil, nil, errors.Join(failed...)
	}
	return out, skipped, nil
}

// hasNoObject reports whether a file has no object and no document that is meant to be one: none has an
// apiVersion or a kind. A document that cannot be parsed counts as meant to be an object.
func hasNoObject(data []byte) bool {
	for _, doc := range split(string(data)) {
		value, err := decode(doc)
		if err != nil {
			return false
		}
		fields, ok := value.(map[string]any)
		if !ok {
			continue
		}
		if fields["apiVersion"] != nil || fields["kind"] != nil {
			return false
		}
	}
	return true
}

func readFile(file string, stdin io.Reader) (data []byte, name string, err error) {
	if file == "-" {
		if data, err = io.ReadAll(stdin); err != nil {
			return nil, "", fmt.Errorf("read stdin: %w", err)
		}
		return data, "stdin", nil
	}
	data, err = os.ReadFile(file)
	return data, file, err
}

func filesOf(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	if strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://") {
		return nil, fmt.Errorf("%s: is not fetched: give a file, or \"curl -fsSL %s | allot up -f -\"", path, path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)) {
			files = append(files, file)
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: has no *.yaml, *.yml or *.json", path)
	}
	return files, err
}

// parse parses the documents of one file.
func parse(file string, data []byte) ([]Manifest, []error) {
	var out []Manifest
	var failed []error
	number := 0
	for _, doc := range split(string(data)) {
		source := Source{File: file, Line: doc.line, Document: number + 1}
		value, err := decode(doc)
		if err == nil && value == nil {
			continue // only comments
		}
		number++
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", source, err))
			continue
		}
		manifests, errs := objects(source, value)
		out = append(out, manifests...)
		failed = append(failed, errs...)
	}
	return out, failed
}

// decode decodes one document strictly: a duplicate key is an error, and errors have the line
// numbers of the file.
func decode(doc document) (any, error) {
	data, err := yaml.YAMLToJSONStrict([]byte(doc.text))
	if err == nil {
		err = singleValue(doc.text)
	}
	if err != nil {
		return nil, errors.New(inFile(yamlMessage(err.Error()), doc.line))
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return nil, err
	}
	return value, nil
}

// yamlMessage returns a message of the YAML decoder as one line.
func yamlMessage(message string) string {
	message = strings.TrimPrefix(message, "error converting YAML to JSON: ")
	message = strings.TrimPrefix(message, "yaml: ")
	message = strings.TrimPrefix(message, "unmarshal errors:")
	lines := strings.Split(strings.TrimSpace(message), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "; ")
}

// singleValue returns an error if the text continues after its first value; the YAML decoder ignores what
// follows.
func singleValue(text string) error {
	decoder := yamlv3.NewDecoder(strings.NewReader(text))
	var first, second yamlv3.Node
	if err := decoder.Decode(&first); err != nil {
		return nil //nolint:nilerr // an empty text; invalid YAML was refused before
	}
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("line %d: a document ends before this, and no --- stands between", second.Line)
}

var lineNumber = regexp.MustCompile(`\bline (\d+)`)

// inFile converts the line numbers in a message from lines of the document to lines of the file.
func inFile(message string, begin int) string {
	return lineNumber.ReplaceAllStringFunc(message, func(found string) string {
		n, err := strconv.Atoi(strings.TrimPrefix(found, "line "))
		if err != nil {
			return found
		}
		return "line " + strconv.Itoa(n+begin-1)
	})
}

// objects returns the manifests of a decoded document, which is one object or a list.
func objects(source Source, value any) ([]Manifest, []error) {
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, []error{fmt.Errorf("%s: must be an object, is %s", source, typeName(value))}
	}
	kind, _ := fields["kind"].(string)
	items, isList := fields["items"].([]any)
	if !isList || !strings.HasSuffix(kind, "List") {
		if problems := identify(fields); len(problems) > 0 {
			var failed []error
			for _, problem := range problems {
				failed = append(failed, fmt.Errorf("%s: %s", source, problem))
			}
			return nil, failed
		}
		return []Manifest{{source, &unstructured.Unstructured{Object: fields}}}, nil
	}
	var out []Manifest
	var failed []error
	for i, item := range items {
		at := source
		at.Item = strings.TrimPrefix(fmt.Sprintf("%s.items[%d]", source.Item, i), ".")
		manifests, errs := objects(at, item)
		out = append(out, manifests...)
		failed = append(failed, errs...)
	}
	return out, failed
}

// identify returns the faults of the fields that identify an object.
func identify(fields map[string]any) []string {
	var problems []string
	for _, name := range []string{"apiVersion", "kind"} {
		if text, ok := fields[name].(string); !ok || text == "" {
			problems = append(problems, name+": must be a text, is "+typeName(fields[name]))
		}
	}
	metadata, ok := fields["metadata"].(map[string]any)
	if !ok {
		return append(problems, "metadata: must be an object, is "+typeName(fields["metadata"]))
	}
	if text, ok := metadata["name"].(string); !ok || text == "" {
		problem := "metadata.name: must be a text, is " + typeName(metadata["name"])
		if _, ok := metadata["generateName"]; ok {
			problem = "metadata.name: is required; generateName makes another object each time, and cannot be applied"
		}
		problems = append(problems, problem)
	}
	if namespace, has := metadata["namespace"]; has {
		if _, ok := namespace.(string); !ok {
			problems = append(problems, "metadata.namespace: must be a text, is "+typeName(namespace))
		}
	}
	return problems
}

func typeName(value any) string {
	switch v := value.(type) {
	case nil:
		return "missing"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return fmt.Sprintf("%q", v)
	default:
		return fmt.Sprint(v)
	}
}
