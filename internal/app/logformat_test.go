package app

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/klog/v2"
)

// Each line of a log in JSON is an object, as in the logs of Kubernetes' components.
func TestLogInJSON(t *testing.T) {
	var log strings.Builder
	jsonLog.logTo(&log)
	klog.InfoS("A pod waits", "pod", klog.KRef("ns", "p"))
	klog.ErrorS(errReported, "It ended")
	klog.Flush()
	klog.ClearLogger()
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines, want 2:\n%s", len(lines), log.String())
	}
	var first struct {
		Msg string
		Pod struct{ Name, Namespace string }
	}
	var second struct{ Msg, Err string }
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil || first.Msg != "A pod waits" || first.Pod.Name != "p" {
		t.Errorf("%s: %+v %v", lines[0], first, err)
	}
	if err := json.Unmarshal([]byte(lines[1]), &second); err != nil || second.Err != errReported.Error() {
		t.Errorf("%s: %+v %v", lines[1], second, err)
	}
}

func TestLogFormats(t *testing.T) {
	var format logFormat
	for text, ok := range map[string]bool{"text": true, "json": true, "xml": false, "": false} {
		if err := format.Set(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
