package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
)

// TestParse parses the documents of testdata/manifests: each object with its position, or the
// error.
func TestParse(t *testing.T) {
	datadriven.Walk(t, "testdata/manifests", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			input := strings.NewReplacer(`\t`, "\t", "<blank>", "").Replace(d.Input)
			manifests, errs := parse("file.yaml", []byte(input))
			var b strings.Builder
			for _, m := range manifests {
				fmt.Fprintf(&b, "%s: %s %s %s\n", m.Source, m.Object.GetAPIVersion(), m.Object.GetKind(), m.Object.GetName())
			}
			if err := errors.Join(errs...); err != nil {
				fmt.Fprintln(&b, err)
			}
			return b.String()
		})
	})
}

// TestReadManifests reads several files, nested folders, stdin, and files that do not exist.
func TestReadManifests(t *testing.T) {
	dir := t.TempDir()
	object := func(name string) string { return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n" }
	for name, text := range map[string]string{
		"b.yaml": object("b"), "sub/deep/a.yml": object("a"),
		"sub/c.json": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}`,
		"notes.txt":  "not read", "chart/values.yaml": "replicas: 1\n", "chart/o.yaml": object("o"), "chart/list.json": "[1]",
		"values/values.yaml": "a: 1",
		"half/x.yaml":        "kind: ConfigMap\nname: x\n", "broken/x.yaml": "a: [1\n", "empty/readme.md": "nothing",
		"comments/x.yaml": "# nothing\n---\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name  string
		paths []string
		want  string // names, or the error without the folder
	}{
		{"a folder", []string{"sub"}, "c a"},
		{"several and stdin", []string{"b.yaml", "-", "sub/c.json"}, "b in c"},
		{"any name when asked for", []string{"notes.txt"}, "notes.txt:1: document 1: must be an object, is \"not read\""},
		{"a folder without manifests", []string{"empty"}, "empty: has no *.yaml, *.yml or *.json"},
		{"a folder with other YAML", []string{"chart"}, "o left out: chart/list.json chart/values.yaml"},
		{"a folder with nothing else", []string{"values"}, "values: no file in it has a Kubernetes object"},
		{"other YAML by its name", []string{"values/values.yaml"},
			"values/values.yaml:1: document 1: apiVersion: must be a text, is missing\n" +
				"values/values.yaml:1: document 1: kind: must be a text, is missing\nvalues/values.yaml:1: document 1: metadata: must be an object, is missing"},
		{"half an object in a folder", []string{"half"},
			"half/x.yaml:1: document 1: apiVersion: must be a text, is missing\n" +
				"half/x.yaml:1: document 1: metadata: must be an object, is missing"},
		{"no YAML in a folder", []string{"broken"}, "broken/x.yaml:1: document 1: line 1: did not find expected ',' or ']'"},
		{"nothing but comments in a folder", []string{"comments"}, "comments: no file in it has a Kubernetes object"},
		{"nothing but comments", []string{"comments/x.yaml"}, "comments/x.yaml: has no document"},
		{"not there, beside one that is", []string{"b.yaml", "none.yaml"}, "stat none.yaml: no such file or directory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var paths []string
			for _, path := range tc.paths {
				if path != "-" {
					path = filepath.Join(dir, path)
				}
				paths = append(paths, path)
			}
			manifests, skipped, err := ReadManifests(paths, strings.NewReader(object("in")))
			var names []string
			for _, m := range manifests {
				names = append(names, m.Object.GetName())
			}
			got := strings.Join(names, " ")
			if len(skipped) > 0 {
				got += " left out:"
			}
			for _, line := range skipped {
				name, _, _ := strings.Cut(strings.TrimPrefix(line, dir+string(filepath.Separator)), ":")
				got += " " + name
			}
			if err != nil {
				got += strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("unexpected result (-want +got):\n%s", diff)
			}
		})
	}
}

// TestExample checks names, references and order of the objects in the example of KEP-5729.
func TestExample(t *testing.T) {
	manifests, _, err := ReadManifests([]string{"../../examples/kep-5729.yaml"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range manifests {
		line := strings.Join([]string{m.Object.GetAPIVersion(), m.Object.GetKind(), m.Object.GetName()}, " ")
		if workload, template := templateOf(m.Object); workload != "" {
			line += " of " + workload + "/" + template
		}
		got = append(got, line)
	}
	want := []string{
		"resource.k8s.io/v1 DeviceClass example",
		"apiextensions.k8s.io/v1 CustomResourceDefinition myworkloads.example.com",
		"resource.k8s.io/v1 ResourceClaimTemplate pg-claim-template",
		"example.com/v1 MyWorkload my-workload",
		"scheduling.k8s.io/v1alpha2 Workload my-workload",
		"scheduling.k8s.io/v1alpha2 PodGroup my-podgroup-1 of my-workload/group-1",
		"scheduling.k8s.io/v1alpha2 PodGroup my-podgroup-2 of my-workload/group-2",
		"apps/v1 Deployment wl-claim-example-1",
		"apps/v1 Deployment wl-claim-example-2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected objects (-want +got):\n%s", diff)
	}
}
