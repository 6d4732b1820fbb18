package openapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/allot-dev/allot/api"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// TestEveryJSONFieldIsAProperty fills each kind, encodes it as JSON, and checks that the schema has
// a property for each name in the result.
func TestEveryJSONFieldIsAProperty(t *testing.T) {
	definitions := Definitions(refTo)
	for gvk, kind := range api.Scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal {
			continue
		}
		model := util.GetCanonicalTypeName(reflect.Zero(kind).Interface())
		t.Run(gvk.String(), func(t *testing.T) {
			names := 0
			for seed := range int64(4) {
				obj := reflect.New(kind)
				filler(seed).Fill(obj.Interface())
				data, err := json.Marshal(obj.Interface())
				if err != nil {
					t.Fatal(err)
				}
				var value any
				if err := json.Unmarshal(data, &value); err != nil {
					t.Fatal(err)
				}
				names += checkValue(t, definitions, &spec.Schema{SchemaProps: spec.SchemaProps{Ref: refTo(model)}}, value, gvk.Kind)
			}
			if names == 0 {
				t.Error("nothing checked")
			}
		})
	}
}

// checkValue checks that the schema describes a JSON value, and returns the number of checked
// names.
func checkValue(
	t *testing.T, definitions map[string]common.OpenAPIDefinition, s *spec.Schema, value any, path string,
) int {
	t.Helper()
	if ref := s.Ref.String(); ref != "" {
		d, ok := definitions[strings.TrimPrefix(ref, "#/definitions/")]
		if !ok {
			t.Errorf("%s: %s has no definition", path, ref)
			return 0
		}
		s = &d.Schema
	}
	names := 0
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			property, ok := s.Properties[key]
			switch {
			case ok:
				names += 1 + checkValue(t, definitions, &property, v, path+"."+key)
			case s.AdditionalProperties != nil:
				names += checkValue(t, definitions, s.AdditionalProperties.Schema, v, path+"."+key)
			case len(s.Properties) > 0:
				t.Errorf("%s.%s is no property", path, key)
			}
		}
	case []any:
		if s.Items == nil {
			t.Errorf("%s: a list in JSON, not in the schema", path)
			return names
		}
		for i, v := range value {
			names += checkValue(t, definitions, s.Items.Schema, v, fmt.Sprintf("%s[%d]", path, i))
		}
	}
	return names
}

func TestReferencesHaveDefinitions(t *testing.T) {
	definitions := Definitions(refTo)
	for model, d := range definitions {
		for _, dependency := range d.Dependencies {
			if _, ok := definitions[dependency]; !ok {
				t.Errorf("%s refers to %s, which is not defined", model, dependency)
			}
		}
	}
}

func TestEverythingIsDescribed(t *testing.T) {
	for model, d := range Definitions(refTo) {
		if d.Schema.Description == "" {
			t.Errorf("%s has no description", model)
		}
		for name, property := range d.Schema.Properties {
			if property.Description == "" && property.Ref.String() == "" {
				t.Errorf("%s.%s has no description", model, name)
			}
		}
	}
}

func TestAddedFieldsNameTheirKEP(t *testing.T) {
	definitions := Definitions(refTo)
	for model, fields := range addedFields() {
		for _, field := range fields {
			if text := definitions[model].Schema.Properties[field].Description; !strings.Contains(text, "KEP-") {
				t.Errorf("%s.%s: %q", model, field, text)
			}
		}
	}
}

// TestOwnTextsAreUsed fails for a description of a field that was renamed or removed.
func TestOwnTextsAreUsed(t *testing.T) {
	definitions := Definitions(refTo)
	for model, fields := range ownTexts() {
		d, ok := definitions[model]
		if !ok && model != "io.k8s.apimachinery.pkg.apis.meta.v1.Duration" { // only of types that are not served yet
			t.Errorf("text for %s, which is not defined", model)
			continue
		}
		for name := range fields {
			if _, ok := d.Schema.Properties[name]; !ok && name != "" {
				t.Errorf("text for %s.%s, which is no property", model, name)
			}
		}
	}
}

// TestJobClaimsNameTheirLimit checks that the description that `kubectl explain` prints has the
// limit that validation enforces (P23).
func TestJobClaimsNameTheirLimit(t *testing.T) {
	text := Definitions(refTo)["io.k8s.api.batch.v1.JobSchedulingConfiguration"].Schema.Properties["resourceClaims"].Description
	if want := fmt.Sprintf("at most %d,", scheduling.MaxPodGroupResourceClaims); !strings.Contains(text, want) {
		t.Errorf("got %q, want %q in it", text, want)
	}
}

func TestDeltaKindsKeepUpstreamsTexts(t *testing.T) {
	definitions := Definitions(refTo)
	for _, c := range []struct{ model, property string }{
		{"io.k8s.api.core.v1.PodSpec", "nodeName"},
		{"io.k8s.api.core.v1.PodTemplateSpec", "spec"},
		{"io.k8s.api.core.v1.PodResourceClaim", "resourceClaimName"},
		{"io.k8s.api.resource.v1.ResourceClaimStatus", "reservedFor"},
		{"io.k8s.api.apps.v1.DeploymentSpec", "strategy"},
	} {
		if definitions[c.model].Schema.Properties[c.property].Description == "" {
			t.Errorf("%s.%s lost its description", c.model, c.property)
		}
	}
	template := definitions["io.k8s.api.core.v1.PodTemplateSpec"].Schema
	if strings.Contains(template.Description, "ObjectMeta") {
		t.Errorf("a pod template has the description of its metadata: %q", template.Description)
	}
}

func TestListsOfOwnTypesMergeByName(t *testing.T) {
	definitions := Definitions(refTo)
	for _, c := range []struct{ model, property string }{
		{"io.k8s.api.core.v1.PodSpec", "resourceClaims"},
		{"io.k8s.api.scheduling.v1alpha2.PodGroupSpec", "resourceClaims"},
		{"io.k8s.api.scheduling.v1alpha2.PodGroupTemplate", "resourceClaims"},
		{"io.k8s.api.scheduling.v1alpha2.WorkloadSpec", "podGroupTemplates"},
	} {
		property := definitions[c.model].Schema.Properties[c.property]
		keys, _ := property.Extensions["x-kubernetes-list-map-keys"].([]any)
		if property.Extensions["x-kubernetes-list-type"] != "map" || len(keys) != 1 || keys[0] != "name" {
			t.Errorf("%s.%s: %v", c.model, c.property, property.Extensions)
		}
	}
}

// TestKubeOpenAPIBuilds runs the builder of the API server over all kinds, with allot's model
// names.
func TestKubeOpenAPIBuilds(t *testing.T) {
	var models []string
	for gvk, kind := range api.Scheme.AllKnownTypes() {
		if gvk.Version != runtime.APIVersionInternal {
			models = append(models, util.GetCanonicalTypeName(reflect.Zero(kind).Interface()))
		}
	}
	config := &common.OpenAPIV3Config{
		Info: &spec.Info{}, GetDefinitions: Definitions, GetDefinitionName: Namer(api.Scheme),
	}
	schemas, err := builder3.BuildOpenAPIDefinitionsForResources(config, models...)
	if err != nil {
		t.Fatal(err)
	}
	if len(schemas) < len(models)/2 {
		t.Errorf("%d schemas for %d models", len(schemas), len(models))
	}
}

func TestNamerHidesInternalKinds(t *testing.T) {
	name := Namer(api.Scheme)
	model := core.Pod{}.OpenAPIModelName()
	got, extensions := name(model)
	want := []any{map[string]any{"group": "", "version": "v1", "kind": "Pod"}}
	if got != model || !reflect.DeepEqual(extensions["x-kubernetes-group-version-kind"], want) {
		t.Errorf("%s, %v", got, extensions)
	}
	if _, extensions := name("io.k8s.api.core.v1.PodSpec"); extensions != nil {
		t.Errorf("a struct that is no kind has %v", extensions)
	}
	internal := runtime.NewScheme()
	internal.AddKnownTypeWithName(schema.GroupVersionKind{Version: runtime.APIVersionInternal, Kind: "Pod"}, &core.Pod{})
	if _, extensions := Namer(internal)(model); extensions != nil {
		t.Errorf("an internal kind has %v", extensions)
	}
}

func TestDefinitionsDoNotShareMemory(t *testing.T) {
	b, err := NewBuilder(core.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	ports := func() spec.Schema {
		definitions, err := b.Build(refTo)
		if err != nil {
			t.Fatal(err)
		}
		return definitions["io.k8s.api.core.v1.Container"].Schema.Properties["ports"]
	}
	first := ports()
	first.Extensions["x-kubernetes-list-type"] = "changed"
	first.Extensions["x-kubernetes-list-map-keys"].([]any)[0] = "changed"
	second := ports().Extensions
	if second["x-kubernetes-list-type"] != "map" || second["x-kubernetes-list-map-keys"].([]any)[0] != "containerPort" {
		t.Errorf("a change of one result shows in another: %v", second)
	}
}

func TestRootsHaveKindsAndMachinery(t *testing.T) {
	found := map[reflect.Type]bool{}
	for _, root := range Roots(api.Scheme) {
		found[reflect.TypeOf(root)] = true
	}
	for _, want := range []any{core.Pod{}, resource.ResourceClaimList{}, metav1.Patch{}, metav1.Table{}} {
		if !found[reflect.TypeOf(want)] {
			t.Errorf("%T is no root", want)
		}
	}
}
