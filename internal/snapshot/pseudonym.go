package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Pseudonyms maps the names of a Snapshot to those that replace them, by kind, for example
// Pseudonyms["pod"]["train-0"]. Namespaces do not matter: equal names of a kind get equal
// pseudonyms.
type Pseudonyms map[string]map[string]string

// Of returns the pseudonym for a name of a kind, and makes one if there is none yet.
func (p Pseudonyms) Of(kind, name string) string {
	if name == "" || isWellKnown(kind, name) {
		return name
	}
	if p[kind] == nil {
		p[kind] = map[string]string{}
	}
	if _, ok := p[kind][name]; !ok {
		p[kind][name] = fmt.Sprintf("%s-%d", kind, len(p[kind])+1)
	}
	return p[kind][name]
}

// isWellKnown reports whether a name tells nothing about a cluster, as every cluster has it.
func isWellKnown(kind, name string) bool {
	if kind == "namespace" {
		return name == corev1.NamespaceDefault || strings.HasPrefix(name, "kube-")
	}
	return kind == "priorityclass" && strings.HasPrefix(name, "system-")
}

// Pseudonymize replaces the names of objects, the keys and values of labels and taints, images and
// volume handles, and removes annotations and messages. Equal names get equal pseudonyms, so that
// references and selectors mean the same as before. Names of drivers, devices and their attributes,
// of requests and containers, and selectors in CEL stay: they decide, and belong to manifests and
// hardware.
func (s *Snapshot) Pseudonymize() (Pseudonyms, error) {
	s.Sort()
	names := Pseudonyms{}
	w := &renamer{names: names}
	data, err := json.Marshal(&s.Objects)
	if err != nil {
		return nil, fmt.Errorf("encode objects: %w", err)
	}
	var lists map[string][]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // large integers stay as they are
	if err := decoder.Decode(&lists); err != nil {
		return nil, fmt.Errorf("decode objects: %w", err)
	}
	// Nodes come first, because pools and labels are often named after them.
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(lists)), func(list string) bool { return list == "nodes" })
	for _, list := range append([]string{"nodes"}, others...) {
		for _, object := range lists[list] {
			if o, ok := object.(map[string]any); ok {
				w.object(kindOfList(list), o)
			}
		}
	}
	if data, err = json.Marshal(lists); err != nil {
		return nil, fmt.Errorf("encode objects: %w", err)
	}
	s.Objects = Objects{}
	if err := json.Unmarshal(data, &s.Objects); err != nil {
		return nil, fmt.Errorf("decode objects: %w", err)
	}
	s.Pseudonyms = true
	s.Sort()
	return names, nil
}

// kindOfList returns the kind of the objects in a list of Objects, or of a kind or resource of the
// API, in lower case and singular.
func kindOfList(list string) string {
	list = strings.ToLower(list)
	switch {
	case list == "csinodes" || list == "csinode":
		return "node" // they have the same names
	case strings.HasSuffix(list, "classes"):
		return strings.TrimSuffix(list, "es")
	case strings.HasSuffix(list, "class"):
		return list
	}
	return strings.TrimSuffix(list, "s")
}
