package explain_test

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/allot-dev/allot/internal/explain"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/snapshot"
)

var rewrite = flag.Bool("rewrite", false, "write the output into the golden files")

func bufioReader(data []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(data)) }

func record2(r corev1.PodResourceClaimStatus) schedulingv1beta1.PodGroupResourceClaimStatus {
	return schedulingv1beta1.PodGroupResourceClaimStatus{Name: r.Name, ResourceClaimName: r.ResourceClaimName}
}

// Each file of testdata is the manifests of a cluster, with the fixtures that its first line names.
// The lines after it name what is explained: "# explain: pod NAME". The answers are in a file of
// the same name that ends with .txt.
func TestReports(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no manifests", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) { testReport(t, file) })
	}
}

func testReport(t *testing.T, file string) {
	server, fixtures, subjects := directives(t, file)
	snap := load(t, server, append(fixtures, file)...)
	e, err := explain.New(snap)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for i, subject := range subjects {
		if i > 0 {
			out.WriteString("\n" + strings.Repeat("=", 80) + "\n\n")
		}
		kind, name, _ := strings.Cut(subject, " ")
		key := model.Key{Namespace: "default", Name: name}
		if ns, rest, ok := strings.Cut(name, "/"); ok && kind != "device" {
			key = model.Key{Namespace: ns, Name: rest}
		}
		report, err := e.Explain(kind, key)
		if err != nil {
			out.WriteString("error: " + err.Error() + "\n")
			continue
		}
		if err := report.WriteText(&out); err != nil {
			t.Fatal(err)
		}
	}
	golden := strings.TrimSuffix(file, ".yaml") + ".txt"
	if *rewrite {
		if err := os.WriteFile(golden, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Error(diff)
	}
}

// directives returns the server, the fixtures and the subjects that the comments at the start of a
// file name. Without a server it is allot's own.
func directives(t *testing.T, file string) (server snapshot.Server, fixtures, subjects []string) {
	t.Helper()
	server = snapshot.Server{Version: "v1.37.2+allot", Allot: true}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		if names, ok := strings.CutPrefix(line, "# fixtures:"); ok {
			for name := range strings.FieldsSeq(names) {
				fixtures = append(fixtures, filepath.Join("testdata", "fixtures", name+".yaml"))
			}
		}
		if strings.HasPrefix(line, "# server: kubernetes") {
			server = snapshot.Server{Version: "v1.37.2"}
		}
		if subject, ok := strings.CutPrefix(line, "# explain:"); ok {
			subjects = append(subjects, strings.TrimSpace(subject))
		}
	}
	if len(subjects) == 0 {
		t.Fatal("nothing to explain")
	}
	return server, fixtures, subjects
}

// A snapshot with pseudonyms gives the same answers, with other names.
func TestPseudonymsKeepTheAnswers(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		server, fixtures, subjects := directives(t, file)
		snap := load(t, server, append(fixtures, file)...)
		var names []snapshot.Pseudonyms
		before := podStates(t, snap, subjects, names)
		pseudonyms, err := snap.Pseudonymize()
		if err != nil {
			t.Fatal(err)
		}
		after := podStates(t, snap, subjects, append(names, pseudonyms))
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

// podStates returns the answers about pods without their names.
func podStates(t *testing.T, snap *snapshot.Snapshot, subjects []string, names []snapshot.Pseudonyms) []string {
	t.Helper()
	e, err := explain.New(snap)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, subject := range subjects {
		kind, name, _ := strings.Cut(subject, " ")
		if kind != "pod" {
			continue
		}
		for _, n := range names {
			name = n.Of("pod", name)
		}
		report, err := e.Explain(kind, model.Key{Namespace: "default", Name: name})
		if err != nil {
			t.Fatalf("%s: %v", subject, err)
		}
		text := fmt.Sprintf("%s: %s, %d helps", subject, report.State, len(report.Help))
		for i := range report.Pods {
			text += fmt.Sprintf(", %d nodes", report.Pods[i].Examined)
			for _, class := range report.Pods[i].Nodes {
				text += fmt.Sprintf(", %d %s", class.Nodes, class.Check)
			}
		}
		list = append(list, text)
	}
	return list
}
