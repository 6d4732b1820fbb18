package registry

import (
	"cmp"
	"context"
	"fmt"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	apistorage "k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/util/dryrun"

	placement "github.com/allot-dev/allot/api/placement/v1alpha2"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/apiserver/defaults"
)

var (
	claimResource = schema.GroupResource{Group: resourceGroup, Resource: "resourceclaims"}
	claimKind     = resourcev1.SchemeGroupVersion.WithKind("ResourceClaim")
)

// placementClaims creates the claims of placements with their allocations: each is checked as by a
// request to create it and one to write its status, and stored once.
type placementClaims struct {
	store    *genericregistry.Store
	strategy allocatedClaimStrategy
	status   *claimStatus
}

func newPlacementClaims(store *genericregistry.Store, status *claimStatus) *placementClaims {
	return &placementClaims{store: store, strategy: newAllocatedClaimStrategy(store), status: status}
}

// claimsCheck checks the claims of a request, and reserves their devices.
type claimsCheck struct {
	*placements
	request *placement.Placement
	options *metav1.CreateOptions
	writes  []*deviceWrite // reservations, by claim
}

// all returns the claims as they are to be stored. The error has a cause for each claim that cannot
// be created. The caller must call end.
func (c *claimsCheck) all(ctx context.Context) ([]*resource.ResourceClaim, []error) {
	n := len(c.request.Spec.Claims)
	if n == 0 {
		return nil, nil
	}
	claims, refusals := make([]*resource.ResourceClaim, n), make([]error, n)
	c.writes = make([]*deviceWrite, n)
	if err := c.permitsClaims(ctx, c.request.Namespace); err != nil {
		for i := range refusals {
			refusals[i] = err
		}
		return nil, refusals
	}
	c.claims.status.follow()
	inParallel(n, admissionWorkers, func(i int) {
		claims[i], refusals[i] = c.check(ctx, i)
	})
	return claims, refusals
}

// permitsClaims returns an error if the caller may not create claims or write their status. Whether
// it may allocate is checked with the status.
func (p *placements) permitsClaims(ctx context.Context, namespace string) error {
	who, _ := caller(ctx)
	for _, right := range []authorizer.AttributesRecord{{Verb: "create"}, {Verb: "update", Subresource: "status"}} {
		right.User, right.Namespace, right.ResourceRequest = who, namespace, true
		right.APIGroup, right.APIVersion, right.Resource = resourceGroup, "v1", claimResource.Resource
		if decision, _, _ := p.access.Authorizer.Authorize(ctx, right); decision != authorizer.DecisionAllow {
			what := claimResource
			if right.Subresource != "" {
				what.Resource += "/" + right.Subresource
			}
			return apierrors.NewForbidden(what, "", fmt.Errorf("user %q may not %s %s", who.GetName(), right.Verb, what))
		}
	}
	return nil
}

// check admits and validates one claim, and reserves its devices.
func (c *claimsCheck) check(ctx context.Context, i int) (*resource.ResourceClaim, error) {
	claim := c.request.Spec.Claims[i].DeepCopy()
	claim.Namespace = c.request.Namespace
	defaults.ResourceClaim(claim)
	rest.FillObjectMetaSystemFields(claim)
	ctx = asStatusUpdate(ctx, claim)
	if err := c.admitClaim(ctx, claim); err != nil {
		return nil, err
	}
	if err := rest.BeforeCreate(c.claims.strategy, ctx, claim); err != nil {
		return nil, err
	}
	setManagedFields(claim, cmp.Or(c.options.FieldManager, placement.GroupName), time.Now())
	if err := c.validateClaim(ctx, claim); err != nil {
		return nil, err
	}
	w := &deviceWrite{guard: c.claims.status.guard, dry: dryrun.IsDryRun(c.options.DryRun)}
	c.writes[i] = w
	return claim, w.reserve(ctx, claim, &resource.ResourceClaim{})
}

// asStatusUpdate returns the context of a request for the status of the claim, by which the right to
// allocate is checked.
func asStatusUpdate(ctx context.Context, claim *resource.ResourceClaim) context.Context {
	return genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: "update", APIGroup: resourceGroup, APIVersion: "v1", Namespace: claim.Namespace,
		Resource: claimResource.Resource, Subresource: "status", Name: claim.Name,
	})
}

// admitClaim lets admission change the claim, as it may when the claim is created.
func (c *claimsCheck) admitClaim(ctx context.Context, claim *resource.ResourceClaim) error {
	mutating, ok := c.admission.(admission.MutationInterface)
	if !ok || !mutating.Handles(admission.Create) {
		return nil
	}
	return mutating.Admit(ctx, c.creation(ctx, claim), c.interfaces())
}

// validateClaim has admission check the creation of the claim and the update of its status.
func (c *claimsCheck) validateClaim(ctx context.Context, claim *resource.ResourceClaim) error {
	validating, ok := c.admission.(admission.ValidationInterface)
	if !ok {
		return nil
	}
	created := withoutStatus(claim)
	if validating.Handles(admission.Create) {
		if err := validating.Validate(ctx, c.creation(ctx, created), c.interfaces()); err != nil {
			return err
		}
	}
	if !validating.Handles(admission.Update) {
		return nil
	}
	who, _ := caller(ctx)
	update := admission.NewAttributesRecord(
		claim.DeepCopy(), created, claimKind, claim.Namespace, claim.Name,
		resourcev1.SchemeGroupVersion.WithResource(claimResource.Resource), "status", admission.Update,
		&metav1.UpdateOptions{DryRun: c.options.DryRun, FieldManager: c.options.FieldManager},
		dryrun.IsDryRun(c.options.DryRun), who,
	)
	return validating.Validate(ctx, update, c.interfaces())
}

// creation returns the attributes of a request that creates the claim.
func (c *claimsCheck) creation(ctx context.Context, claim *resource.ResourceClaim) admission.Attributes {
	who, _ := caller(ctx)
	return admission.NewAttributesRecord(
		claim, nil, claimKind, claim.Namespace, claim.Name,
		resourcev1.SchemeGroupVersion.WithResource(claimResource.Resource), "", admission.Create, c.options,
		dryrun.IsDryRun(c.options.DryRun), who,
	)
}

func (c *claimsCheck) interfaces() admission.ObjectInterfaces {
	return admission.NewObjectInterfacesFromScheme(c.scheme)
}

// end ends the reservations of devices whose claims were not stored.
func (c *claimsCheck) end() {
	for _, w := range c.writes {
		if w != nil {
			w.end()
		}
	}
}

// key returns the key of a claim in the storage.
func (p *placementClaims) key(ctx context.Context, claim *resource.ResourceClaim) (string, error) {
	return p.store.KeyFunc(genericapirequest.WithNamespace(ctx, claim.Namespace), claim.Name)
}

// create stores a claim that was checked. If the claim exists because an earlier attempt has stored
// it, it is left as it is. If another claim has its name, the error is an unbindableError.
func (p *placementClaims) create(ctx context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error) {
	key, err := p.key(ctx, claim)
	if err != nil {
		return nil, unbindableError{err}
	}
	var stored *resource.ResourceClaim
	err = untilDone(ctx, func() (err error) {
		out := &resource.ResourceClaim{}
		err = p.store.Storage.Create(ctx, key, claim.DeepCopy(), out, 0, false)
		if apistorage.IsExist(err) {
			out, err = p.earlier(ctx, key, claim)
		}
		stored = out
		return err
	})
	if err != nil {
		return nil, err
	}
	return stored, nil
}

// earlier returns the claim that exists under the name of a new one, if an earlier attempt has stored
// it. The error is an unbindableError if it is another claim, and NotFound if it was deleted
// meanwhile.
func (p *placementClaims) earlier(
	ctx context.Context, key string, claim *resource.ResourceClaim,
) (*resource.ResourceClaim, error) {
	stored := &resource.ResourceClaim{}
	if err := p.store.Storage.Get(ctx, key, apistorage.GetOptions{}, stored); err != nil {
		return nil, err
	}
	if !isSameClaim(stored, claim) {
		return nil, unbindableError{apierrors.NewAlreadyExists(claimResource, claim.Name)}
	}
	return stored, nil
}

// isSameClaim reports whether a stored claim is the one of a request: for the same owner, with the
// same devices for the same consumers.
func isSameClaim(stored, claim *resource.ResourceClaim) bool {
	owner, want := metav1.GetControllerOfNoCopy(stored), metav1.GetControllerOfNoCopy(claim)
	if owner == nil || want == nil || owner.UID != want.UID || stored.DeletionTimestamp != nil {
		return false
	}
	have := stored.Status.Allocation
	return have != nil && claim.Status.Allocation != nil &&
		apiequality.Semantic.DeepEqual(stored.Spec, claim.Spec) &&
		apiequality.Semantic.DeepEqual(have.Devices.Results, claim.Status.Allocation.Devices.Results) &&
		apiequality.Semantic.DeepEqual(stored.Status.ReservedFor, claim.Status.ReservedFor)
}

// createAll stores claims, and returns an error for each that failed. An unbindableError is final.
// writes are the reservations of the devices, by claim; those of stored claims are taken out. There
// are none when a server starts, before anything else can allocate.
func (p *placementClaims) createAll(
	ctx context.Context, claims []*resource.ResourceClaim, writes []*deviceWrite,
) (failures []error) {
	failures = make([]error, len(claims))
	inParallel(len(claims), placementWorkers, func(i int) {
		stored, err := p.create(ctx, claims[i])
		if err == nil && writes != nil {
			w := writes[i]
			writes[i] = nil
			if refusal := p.status.settle(asServer(ctx, stored.Namespace), w, stored); refusal != nil {
				err = unbindableError{refusal}
			}
		}
		failures[i] = err
	})
	return failures
}

// absent returns the keys of the claims, which must not exist when the plan is recorded.
func (p *placementClaims) absent(
	ctx context.Context, claims []*resource.ResourceClaim,
) (indices map[string]int, err error) {
	indices = make(map[string]int, len(claims))
	for i, claim := range claims {
		key, err := p.key(ctx, claim)
		if err != nil {
			return nil, err
		}
		indices[key] = i
	}
	return indices, nil
}
