package registry

import (
	"context"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	apps "github.com/allot-dev/allot/api/apps/v1"
	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/gates"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
	"github.com/allot-dev/allot/internal/features"
)

func daemonSets() entry {
	return &kind[apps.DaemonSet, *apps.DaemonSet]{
		names: names{
			group: "apps", versions: v1, plural: "daemonsets", singular: "daemonset",
			short: []string{"ds"}, categories: []string{"all"},
		},
		newList:       func() runtime.Object { return &apps.DaemonSetList{} },
		defaults:      defaults.DaemonSet,
		printer:       printers.DaemonSet,
		class:         rbac.ReadWrite,
		spec:          func(d *apps.DaemonSet) any { return &d.Spec },
		status:        func(d *apps.DaemonSet) any { return &d.Status },
		generation:    true,
		prepareCreate: func(_ context.Context, d *apps.DaemonSet) { setTemplateGeneration(d, max(1, templateGeneration(d))) },
		prepareUpdate: func(_ context.Context, d, old *apps.DaemonSet) {
			carryPodClaims(d.Spec.Template.Spec.ResourceClaims, old.Spec.Template.Spec.ResourceClaims)
			gates.DropAbsent(features.Set{}, d, old) // what is dropped is no change of the template
			n := templateGeneration(old)
			if !apiequality.Semantic.DeepEqual(d.Spec.Template, old.Spec.Template) {
				n++
			}
			setTemplateGeneration(d, n)
		},
		prepareStatus:  func(d, old *apps.DaemonSet) { setTemplateGeneration(d, templateGeneration(old)) },
		validate:       validation.ValidateDaemonSet,
		validateUpdate: validation.ValidateDaemonSetUpdate,
		validateStatus: validation.ValidateDaemonSetStatusUpdate,
	}
}

// templateGeneration returns the number of changes of the template. In apps/v1 it is stored in an
// annotation, which clients cannot change afterwards.
func templateGeneration(d *apps.DaemonSet) int64 {
	n, err := strconv.ParseInt(d.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func setTemplateGeneration(d *apps.DaemonSet, n int64) {
	metav1.SetMetaDataAnnotation(&d.ObjectMeta, appsv1.DeprecatedTemplateGeneration, strconv.FormatInt(n, 10))
}
