package apiserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/apiserver"
	"github.com/allot-dev/allot/internal/testkit/tracecollector"
)

// Traces of requests are sent to the collector that the file names, the last ones when the server
// stops.
func TestRequestsAreTraced(t *testing.T) {
	c := tracecollector.Start(t)
	s, err := apiserver.Start(t.Context(), apiserver.Config{
		DataDir: t.TempDir(), UnsafeNoFsync: true, TracingFile: c.File,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = clientset(t, s.Loopback()).CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "traced"}}, metav1.CreateOptions{})
	stopServer(t, s)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, span := range c.Spans() {
		if span.GetName() == "POST /api/v1/namespaces/{:namespace}/configmaps" {
			return
		}
		seen = append(seen, span.GetName())
	}
	t.Errorf("no span of the request among %d: %s", len(seen), strings.Join(seen[:min(len(seen), 20)], ", "))
}

func TestWrongTracingFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tracing.yaml")
	for _, test := range []struct{ text, want string }{
		{"", "does not exist"},
		{"kind: Pod", "unable to decode tracing configuration data"},
		{
			"apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nsamplingRatePerMillion: -1\n",
			"samplingRatePerMillion: Invalid value",
		},
	} {
		if test.text != "" {
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := apiserver.Start(t.Context(), apiserver.Config{
			DataDir: t.TempDir(), UnsafeNoFsync: true, TracingFile: file,
		})
		if err == nil {
			stopServer(t, s)
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.text, err, test.want)
		}
	}
}
