package openapi

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	endpoints "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/allot-dev/allot/api"
)

var _ common.GetOpenAPIDefinitions = Definitions

// Definitions returns the definitions of all kinds in api.Scheme and of the API machinery's types.
// It panics on a type that cannot be described, which is a programming error.
func Definitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	b, err := NewBuilder(Roots(api.Scheme)...)
	if err != nil {
		panic(err)
	}
	definitions, err := b.Build(ref)
	if err != nil {
		panic(err)
	}
	return definitions
}

// Roots returns a value of each external kind of a scheme, and of request and response types that
// are not kinds: patches, tables, discovery and the version.
func Roots(scheme *runtime.Scheme) []any {
	roots := []any{
		metav1.Patch{}, metav1.Table{}, metav1.PartialObjectMetadata{}, metav1.PartialObjectMetadataList{},
		metav1.APIVersions{},
		metav1.APIGroup{}, metav1.APIGroupList{}, metav1.APIResourceList{}, metav1.Status{}, version.Info{},
	}
	for gvk, t := range scheme.AllKnownTypes() {
		if gvk.Version != runtime.APIVersionInternal {
			roots = append(roots, reflect.Zero(t).Interface())
		}
	}
	return roots
}

// Namer returns a function with the name and the group-version-kinds of a definition, for
// kube-openapi. Types are also registered as internal ones, which must not be published.
func Namer(schemes ...*runtime.Scheme) func(model string) (string, spec.Extensions) {
	const extension = "x-kubernetes-group-version-kind"
	all := endpoints.NewDefinitionNamer(schemes...)
	return func(model string) (string, spec.Extensions) {
		name, extensions := all.GetDefinitionName(model)
		kinds, ok := extensions[extension].([]any)
		if !ok {
			return name, extensions
		}
		served := []any{}
		for _, kind := range kinds {
			if k, ok := kind.(map[string]any); !ok || fmt.Sprint(k["version"]) != runtime.APIVersionInternal {
				served = append(served, kind)
			}
		}
		if len(served) == 0 {
			return name, nil
		}
		return name, spec.Extensions{extension: served}
	}
}
