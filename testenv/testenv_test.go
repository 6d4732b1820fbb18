package testenv_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/allot-dev/allot/testenv"
)

const fleetOfOne = `
name: lab
pools:
- name: gpu
  count: 1
  devices:
  - driver: gpu.example.com
    name: gpu
    count: 2
`

// Manifests, the fleet and the feature gates take effect, and custom kinds can be used immediately.
func TestOptions(t *testing.T) {
	env, err := testenv.Start(t.Context(), testenv.Options{
		Manifests: []string{"testdata/widgets.yaml"}, Fleet: fleetOfOne, FeatureGates: "AllAlpha=false",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	}()
	widgets := dynamic.NewForConfigOrDie(env.Config).Resource(
		schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"},
	)
	if list, err := widgets.Namespace("default").List(t.Context(), metav1.ListOptions{}); err != nil ||
		len(list.Items) != 1 {
		t.Errorf("there are %d widgets (%v), want that of the manifest", len(list.Items), err)
	}
	nodes, err := kubernetes.NewForConfigOrDie(env.Config).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 1 {
		t.Errorf("there are %d nodes (%v), want 1", len(nodes.Items), err)
	}
}

func TestBadOptions(t *testing.T) {
	for _, test := range []struct {
		opts testenv.Options
		want string
	}{
		{testenv.Options{Manifests: []string{"testdata/none.yaml"}}, "none.yaml"},
		{testenv.Options{Fleet: "pools: 3"}, "fleet: "},
		{testenv.Options{FeatureGates: "Gravity=false"}, `there is no feature "Gravity"`},
	} {
		if _, err := testenv.Start(t.Context(), test.opts); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("the error is %v, want %q in it", err, test.want)
		}
	}
}
