package registry

import (
	"context"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

func replicationControllers() entry {
	return &kind[core.ReplicationController, *core.ReplicationController]{
		names: names{
			versions: v1, plural: "replicationcontrollers", singular: "replicationcontroller",
			short: []string{"rc"}, categories: []string{"all"}, key: "controllers",
		},
		newList:      func() runtime.Object { return &core.ReplicationControllerList{} },
		defaults:     defaults.ReplicationController,
		printer:      printers.ReplicationController,
		class:        rbac.ReadWrite,
		subresources: map[string]rbac.Class{"scale": rbac.ReadWrite},
		spec:         func(r *core.ReplicationController) any { return &r.Spec },
		status:       func(r *core.ReplicationController) any { return &r.Status },
		generation:   true,
		orphans:      true,
		prepareUpdate: func(_ context.Context, r, old *core.ReplicationController) {
			if r.Spec.Template != nil && old.Spec.Template != nil {
				carryPodClaims(r.Spec.Template.Spec.ResourceClaims, old.Spec.Template.Spec.ResourceClaims)
			}
		},
		validate:       validation.ValidateReplicationController,
		validateUpdate: validation.ValidateReplicationControllerUpdate,
		validateStatus: validation.ValidateReplicationControllerStatusUpdate,
		warnings: func(r, old *core.ReplicationController) []string {
			if old != nil {
				return nil
			}
			return hostNameWarnings(r.Name)
		},
		fields: func(r *core.ReplicationController) fields.Set {
			return fields.Set{"status.replicas": strconv.Itoa(int(r.Status.Replicas))}
		},
		storages: func(store *genericregistry.Store) map[string]rest.Storage {
			return map[string]rest.Storage{"scale": newScale(store, func(r *core.ReplicationController) scaled {
				return scaled{
					replicas: &r.Spec.Replicas, selector: &metav1.LabelSelector{MatchLabels: r.Spec.Selector},
					current: r.Status.Replicas,
				}
			})}
		},
	}
}

// podTemplates are only stored.
func podTemplates() entry {
	return &kind[core.PodTemplate, *core.PodTemplate]{
		names:      names{versions: v1, plural: "podtemplates", singular: "podtemplate"},
		newList:    func() runtime.Object { return &core.PodTemplateList{} },
		defaults:   defaults.PodTemplate,
		printer:    printers.PodTemplate,
		class:      rbac.ReadWrite,
		spec:       func(t *core.PodTemplate) any { return &t.Template },
		generation: true,
		prepareUpdate: func(_ context.Context, t, old *core.PodTemplate) {
			carryPodClaims(t.Template.Spec.ResourceClaims, old.Template.Spec.ResourceClaims)
		},
		validate:       validation.ValidatePodTemplate,
		validateUpdate: validation.ValidatePodTemplateUpdate,
	}
}
