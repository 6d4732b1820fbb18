package registry

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

func controllerRevisions() entry {
	return &kind[appsv1.ControllerRevision, *appsv1.ControllerRevision]{
		names:    names{group: "apps", versions: v1, plural: "controllerrevisions", singular: "controllerrevision"},
		newList:  func() runtime.Object { return &appsv1.ControllerRevisionList{} },
		defaults: noDefaults[*appsv1.ControllerRevision],
		printer:  printers.ControllerRevision,
		class:    rbac.ReadOnly,

		validate:       validation.ValidateControllerRevision,
		validateUpdate: validation.ValidateControllerRevisionUpdate,
	}
}
