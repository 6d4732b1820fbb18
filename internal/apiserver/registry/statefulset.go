package registry

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	apps "github.com/allot-dev/allot/api/apps/v1"
	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

func statefulSets() entry {
	return &kind[apps.StatefulSet, *apps.StatefulSet]{
		names: names{
			group: "apps", versions: v1, plural: "statefulsets", singular: "statefulset",
			short: []string{"sts"}, categories: []string{"all"},
		},
		newList:      func() runtime.Object { return &apps.StatefulSetList{} },
		defaults:     defaults.StatefulSet,
		printer:      printers.StatefulSet,
		class:        rbac.ReadWrite,
		subresources: map[string]rbac.Class{"scale": rbac.ReadWrite},
		spec:         func(s *apps.StatefulSet) any { return &s.Spec },
		status:       func(s *apps.StatefulSet) any { return &s.Status },
		generation:   true,
		prepareUpdate: func(_ context.Context, s, old *apps.StatefulSet) {
			carryPodClaims(s.Spec.Template.Spec.ResourceClaims, old.Spec.Template.Spec.ResourceClaims)
		},
		validate:       validation.ValidateStatefulSet,
		validateUpdate: validation.ValidateStatefulSetUpdate,
		validateStatus: validation.ValidateStatefulSetStatusUpdate,
		warnings: func(s, _ *apps.StatefulSet) []string {
			if limit := s.Spec.RevisionHistoryLimit; limit != nil && *limit < 0 {
				return []string{"spec.revisionHistoryLimit: negative, so that all revisions are kept"}
			}
			return nil
		},
		storages: func(store *genericregistry.Store) map[string]rest.Storage {
			return map[string]rest.Storage{"scale": newScale(store, func(s *apps.StatefulSet) scaled {
				return scaled{replicas: &s.Spec.Replicas, selector: s.Spec.Selector, current: s.Status.Replicas}
			})}
		},
	}
}
