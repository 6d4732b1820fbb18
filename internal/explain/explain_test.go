package explain_test

import (
	"bufio"
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/allot-dev/allot/internal/explain"
	"github.com/allot-dev/allot/internal/model"
)

var rewrite = flag.Bool("rewrite", false, "write the output into the golden files")

func bufioReader(data []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(data)) }

func record2(r corev1.PodResourceClaimStatus) schedulingv1beta1.PodGroupResourceClaimStatus {
	return schedulingv1beta1.PodGroupResourceClaimStatus{Name: r.Name, ResourceClaimName: r.ResourceClaimName}
}

// Each file of testdata is the manifests of a cluster, with the fixtures that its first line names.
// The lines after it name what is explained: "# explain: pod NAME". The answers are in a file of the
// same name that ends with .txt.
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
	fixtures, subjects := directives(t, file)
	snap := load(t, append(fixtures, file)...)
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

// directives returns the fixtures and the subjects that the comments at the start of a file name.
func directives(t *testing.T, file string) (fixtures, subjects []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		if names, ok := strings.CutPrefix(line, "# fixtures:"); ok {
			for _, name := range strings.Fields(names) {
				fixtures = append(fixtures, filepath.Join("testdata", "fixtures", name+".yaml"))
			}
		}
		if subject, ok := strings.CutPrefix(line, "# explain:"); ok {
			subjects = append(subjects, strings.TrimSpace(subject))
		}
	}
	if len(subjects) == 0 {
		t.Fatal("nothing to explain")
	}
	return fixtures, subjects
}
