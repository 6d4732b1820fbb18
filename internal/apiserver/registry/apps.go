package registry

import (
	"context"
	"strconv"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	apps "github.com/allot-dev/allot/api/apps/v1"
	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

func deployments() entry {
	return &kind[apps.Deployment, *apps.Deployment]{
		names: names{
			group: "apps", versions: v1, plural: "deployments", singular: "deployment",
			short: []string{"deploy"}, categories: []string{"all"},
		},
		newList:      func() runtime.Object { return &apps.DeploymentList{} },
		defaults:     defaults.Deployment,
		printer:      printers.Deployment,
		class:        rbac.ReadWrite,
		subresources: map[string]rbac.Class{"scale": rbac.ReadWrite},
		spec:         func(d *apps.Deployment) any { return &d.Spec },
		status:       func(d *apps.Deployment) any { return &d.Status },
		generation:   true,
		prepareUpdate: func(_ context.Context, d, old *apps.Deployment) {
			carryPodClaims(d.Spec.Template.Spec.ResourceClaims, old.Spec.Template.Spec.ResourceClaims)
			// Annotations are copied to the ReplicaSets, so that the controller must see the
			// change.
			if !apiequality.Semantic.DeepEqual(d.Annotations, old.Annotations) {
				d.Generation = old.Generation + 1
			}
		},
		prepareStatus:  func(d, old *apps.Deployment) { d.Labels = old.Labels },
		validate:       validation.ValidateDeployment,
		validateUpdate: validation.ValidateDeploymentUpdate,
		validateStatus: validation.ValidateDeploymentStatusUpdate,
		storages: func(store *genericregistry.Store) map[string]rest.Storage {
			return map[string]rest.Storage{"scale": newScale(store, func(d *apps.Deployment) scaled {
				return scaled{replicas: &d.Spec.Replicas, selector: d.Spec.Selector, current: d.Status.Replicas}
			})}
		},
	}
}

func replicaSets() entry {
	return &kind[apps.ReplicaSet, *apps.ReplicaSet]{
		names: names{
			group: "apps", versions: v1, plural: "replicasets", singular: "replicaset",
			short: []string{"rs"}, categories: []string{"all"},
		},
		newList:      func() runtime.Object { return &apps.ReplicaSetList{} },
		defaults:     defaults.ReplicaSet,
		printer:      printers.ReplicaSet,
		class:        rbac.ReadWrite,
		subresources: map[string]rbac.Class{"scale": rbac.ReadWrite},
		spec:         func(r *apps.ReplicaSet) any { return &r.Spec },
		status:       func(r *apps.ReplicaSet) any { return &r.Status },
		generation:   true,
		prepareUpdate: func(_ context.Context, r, old *apps.ReplicaSet) {
			carryPodClaims(r.Spec.Template.Spec.ResourceClaims, old.Spec.Template.Spec.ResourceClaims)
		},
		validate:       validation.ValidateReplicaSet,
		validateUpdate: validation.ValidateReplicaSetUpdate,
		validateStatus: validation.ValidateReplicaSetStatusUpdate,
		fields: func(r *apps.ReplicaSet) fields.Set {
			return fields.Set{"status.replicas": strconv.Itoa(int(r.Status.Replicas))}
		},
		storages: func(store *genericregistry.Store) map[string]rest.Storage {
			return map[string]rest.Storage{"scale": newScale(store, func(r *apps.ReplicaSet) scaled {
				return scaled{replicas: &r.Spec.Replicas, selector: r.Spec.Selector, current: r.Status.Replicas}
			})}
		},
	}
}
