package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const home = "../../allot/v1alpha1"

// TestManifestFollowsTypes fails when the types, or what they embed, were changed without go
// generate ./api/allot/...
func TestManifestFollowsTypes(t *testing.T) {
	for kind, file := range map[string]string{"ClusterResourceClaimTemplate": "crd.yaml", "PodGroup": "podgroups.yaml",
		"Workload": "workloads.yaml"} {
		want, err := generate(home, kind)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(home, file))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is not what the types say (-want +got):\n%s", file, diff)
		}
	}
}

// TestEveryPropertyIsDescribed checks that each field of allot's own types has a description.
func TestEveryPropertyIsDescribed(t *testing.T) {
	text, err := os.ReadFile(home + "/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		t.Fatal(err)
	}
	kind := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	for _, part := range []string{"spec", "status"} {
		properties := kind.Properties[part].Properties
		if len(properties) == 0 {
			t.Errorf("%s has no properties", part)
		}
		for name, property := range properties {
			if property.Description == "" {
				t.Errorf("%s.%s is not described", part, name)
			}
		}
	}
}
