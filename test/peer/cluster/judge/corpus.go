package judge

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// Manifest is a case of internal/apiserver/validation/testdata: an object, and for an update the
// changes.
type Manifest struct {
	File     string
	Resource schema.GroupVersionResource
	Kind     string
	Verb     string
	Object   map[string]any
	Changed  map[string]any
}

// GroupKind returns the kind of the object with its group.
func (m Manifest) GroupKind() string {
	return schema.GroupKind{Group: m.Resource.Group, Kind: m.Kind}.String()
}

// Manifests reads all cases.
func Manifests() ([]Manifest, error) {
	_, here, _, _ := runtime.Caller(0)
	files, err := filepath.Glob(
		filepath.Join(filepath.Dir(here), "../../../../internal/apiserver/validation/testdata/*/*.yaml"),
	)
	if err != nil {
		return nil, err
	}
	var out []Manifest
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m, err := parse(string(content))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		m.File = filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)
		out = append(out, m)
	}
	return out, nil
}

func parse(content string) (Manifest, error) {
	content, _, _ = strings.Cut(content, "#> ")
	base, patch, patched := strings.Cut(content, "\n--- # ")
	m := Manifest{Verb: "create"}
	if err := yaml.Unmarshal([]byte(base), &m.Object); err != nil {
		return m, err
	}
	apiVersion, _ := m.Object["apiVersion"].(string)
	m.Kind, _ = m.Object["kind"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return m, err
	}
	m.Resource = gv.WithResource(plural(m.Kind))
	// The namespaces of the manifests mean nothing, and requests go to one.
	if meta, _ := m.Object["metadata"].(map[string]any); meta["namespace"] != nil {
		meta["namespace"] = namespace
	}
	if !patched {
		return m, nil
	}
	var change any
	m.Verb, patch, _ = strings.Cut(patch, "\n")
	if err := yaml.Unmarshal([]byte(patch), &change); err != nil {
		return m, err
	}
	m.Changed, _ = merge(clone(m.Object), change).(map[string]any)
	return m, nil
}
