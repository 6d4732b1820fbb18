package app

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// The commands in the manifests accept all their flags.
func TestManifestsHaveValidFlags(t *testing.T) {
	started := map[string]bool{}
	for _, file := range []string{"allot.yaml", "template-sync.yaml"} {
		for _, deployment := range deploymentsIn(t, filepath.Join("../../manifests", file)) {
			args := deployment.Spec.Template.Spec.Containers[0].Args
			started[args[0]] = true
			var out bytes.Buffer
			cmd := newCommand(Streams{In: &bytes.Buffer{}, Out: &out, Err: &out}, false)
			cmd.SetArgs(append(args, "--help")) // it is last, so that the other flags are parsed
			if err := cmd.ExecuteContext(t.Context()); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	if !started["attach"] || !started["template-sync"] {
		t.Errorf("the manifests start %v", started)
	}
}

func deploymentsIn(t *testing.T, file string) []appsv1.Deployment {
	t.Helper()
	text, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	var found []appsv1.Deployment
	for decoder := yaml.NewYAMLOrJSONDecoder(text, 4096); ; {
		var deployment appsv1.Deployment
		switch err := decoder.Decode(&deployment); {
		case errors.Is(err, io.EOF):
			return found
		case err != nil:
			t.Fatal(err)
		case deployment.Kind == "Deployment":
			found = append(found, deployment)
		}
	}
}
