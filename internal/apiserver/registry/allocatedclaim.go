package registry

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// allocatedClaimStrategy creates claims that have a status from the start, as a create and then an
// update of the status would leave them. Only placements use it: a client that creates a claim sets
// no status.
type allocatedClaimStrategy struct {
	strategy[resource.ResourceClaim, *resource.ResourceClaim]
	status statusStrategy[resource.ResourceClaim, *resource.ResourceClaim]
}

var _ rest.RESTCreateStrategy = allocatedClaimStrategy{}

// newAllocatedClaimStrategy returns the strategy for the store of the claims.
func newAllocatedClaimStrategy(store *genericregistry.Store) allocatedClaimStrategy {
	create := store.CreateStrategy.(strategy[resource.ResourceClaim, *resource.ResourceClaim])
	return allocatedClaimStrategy{create, statusStrategy[resource.ResourceClaim, *resource.ResourceClaim]{create}}
}

// PrepareForCreate implements rest.RESTCreateStrategy.
func (s allocatedClaimStrategy) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	claim := obj.(*resource.ResourceClaim)
	status := claim.Status
	s.strategy.PrepareForCreate(ctx, claim)
	created := claim.DeepCopy()
	claim.Status = status
	s.status.PrepareForUpdate(ctx, claim, created)
}

// Validate implements rest.RESTCreateStrategy.
func (s allocatedClaimStrategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	created := withoutStatus(obj.(*resource.ResourceClaim))
	if errs := s.strategy.Validate(ctx, created); len(errs) > 0 {
		return errs
	}
	// The rules for updates require a version, which a claim does not have before it is stored.
	allocated := *obj.(*resource.ResourceClaim)
	created.ResourceVersion, allocated.ResourceVersion = "1", "1"
	return s.status.ValidateUpdate(ctx, &allocated, created)
}

// withoutStatus returns a copy of the claim as it is before its status is written.
func withoutStatus(claim *resource.ResourceClaim) *resource.ResourceClaim {
	created := claim.DeepCopy()
	created.Status = resource.ResourceClaimStatus{}
	return created
}
