package registry

import (
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// runtimeClasses are only stored: simulated nodes have no container runtime.
func runtimeClasses() entry {
	return &kind[nodev1.RuntimeClass, *nodev1.RuntimeClass]{
		names: names{
			group: nodev1.GroupName, versions: v1, plural: "runtimeclasses", singular: "runtimeclass", cluster: true,
		},
		newList:        func() runtime.Object { return &nodev1.RuntimeClassList{} },
		defaults:       noDefaults[*nodev1.RuntimeClass],
		printer:        printers.RuntimeClass,
		class:          rbac.Cluster,
		createOnUpdate: true,
		needsVersion:   true,

		validate:       validation.ValidateRuntimeClass,
		validateUpdate: validation.ValidateRuntimeClassUpdate,
		warnings:       validation.RuntimeClassWarnings,
	}
}
