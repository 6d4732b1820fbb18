package node

import (
	"strings"
	"testing"
)

func TestMisspeltAnnotation(t *testing.T) {
	_, err := readScript(map[string]string{"allot.dev/run-fro": "5s", AnnotationRunFor: "5s", "example.com/run-fro": "x"},
		0)
	if err == nil || !strings.Contains(err.Error(), "allot.dev/run-fro is unknown; there are allot.dev/run-for, ") {
		t.Errorf("err = %v", err)
	}
	if _, err := readScript(map[string]string{"example.com/allot.dev": "x", AnnotationKillFor: "1s"}, 0); err != nil {
		t.Error(err)
	}
}
