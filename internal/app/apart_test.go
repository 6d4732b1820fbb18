package app

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/allot-dev/allot/internal/cli"
	"github.com/allot-dev/allot/internal/metrics"
)

// The step of a part that cannot be built ends, with the reason.
func TestPartThatCannotBeCreated(t *testing.T) {
	var out bytes.Buffer
	h, err := listenHealth("127.0.0.1:0", http.NotFoundHandler())
	if err != nil {
		t.Fatal(err)
	}
	defer h.listener.Close()
	p := &process{
		work: workload{
			name: "allot-part",
		}, cfg: &rest.Config{Host: "https://127.0.0.1:1", TLSClientConfig: rest.TLSClientConfig{CAFile: "nowhere.crt"}},
		metrics: metrics.New(), health: h, progress: cli.NewProgress(&out, cli.Style{}, nil),
	}
	if err := p.lead(t.Context()); !errors.Is(err, errReported) {
		t.Errorf("err = %v", err)
	}
	if text := out.String(); !strings.HasPrefix(text, "allot-part") || !strings.Contains(text, "failed: ") ||
		!strings.Contains(text, "nowhere.crt") {
		t.Errorf("printed %q", text)
	}
}
