package registry

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"

	placement "github.com/allot-dev/allot/api/placement/v1alpha2"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// placements serves POST placements, which creates the claims of a plan and binds its pods, all or
// none (R50, docs/adr/0009).
//
// Each pod is checked as by a request of its own to pods/NAME/binding, and each claim as by requests
// that create it and write its status. If all can be written, the plan is recorded in the journal,
// on the condition that no pod has changed since it was checked, and that no claim exists. From then
// on it is carried out, whatever happens to the request or the server: by the request, or by
// [placements.resume] when the server starts again.
//
// A plan for one pod needs no record: a pod is bound or not, and its claims come first.
type placements struct {
	pods      *genericregistry.Store
	claims    *placementClaims
	alone     func() bool
	access    Access
	journal   Journal
	scheme    *runtime.Scheme
	admission admission.Interface // set before the first request
	flights   flights
	holds     *podHolds
	// running ends when the server stops, and stop ends it.
	running context.Context
	stop    context.CancelFunc
}

var _ rest.Creater = &placements{}

func newPlacements(
	pods *genericregistry.Store, claims *placementClaims, holds *podHolds, cfg Config,
) *placements {
	running, stop := context.WithCancel(context.Background())
	p := &placements{
		pods: pods, claims: claims, alone: cfg.Alone, access: cfg.Access, journal: cfg.Journal, scheme: cfg.Scheme,
		flights: newFlights(), holds: holds, running: running, stop: stop,
	}
	claims.store.BeginCreate = p.beginClaim
	return p
}

// beginClaim makes a request that creates a claim wait for a placement that creates one with the
// same name, and the other way round, so that nothing has the name of a claim that is recorded.
func (p *placements) beginClaim(
	ctx context.Context, obj runtime.Object, _ *metav1.CreateOptions,
) (genericregistry.FinishFunc, error) {
	claim, ok := obj.(*resource.ResourceClaim)
	if !ok {
		return nil, fmt.Errorf("unexpected type %T", obj)
	}
	end, err := p.flights.begin(ctx, []string{claimFlight(genericapirequest.NamespaceValue(ctx), claim.Name)})
	if err != nil {
		return nil, err
	}
	return func(context.Context, bool) { end() }, nil
}

// New implements rest.Storage.
func (p *placements) New() runtime.Object { return &placement.Placement{} }

// Destroy implements rest.Storage.
func (p *placements) Destroy() { p.stop() }

// NamespaceScoped implements rest.Scoper.
func (p *placements) NamespaceScoped() bool { return true }

// GetSingularName implements rest.SingularNameProvider.
func (p *placements) GetSingularName() string { return "placement" }

// Create implements rest.Creater.
func (p *placements) Create(
	ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	request, ok := obj.(*placement.Placement)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("unexpected type %T", obj))
	}
	if errs := validation.ValidatePlacement(request); len(errs) > 0 {
		return nil, apierrors.NewInvalid(placement.SchemeGroupVersion.WithKind("Placement").GroupKind(), request.Name, errs)
	}
	if validate != nil {
		if err := validate(ctx, request.DeepCopy()); err != nil {
			return nil, err
		}
	}
	if len(request.Spec.Claims) > 0 && !p.alone() {
		return nil, apierrors.NewMethodNotSupported(placementResource, "create claims with")
	}
	end, err := p.flights.begin(ctx, flightsOf(request))
	if err != nil {
		return nil, err
	}
	defer end()
	dry := dryrun.IsDryRun(options.DryRun)
	claims := &claimsCheck{placements: p, request: request, options: options}
	defer claims.end()
	entry, err := p.admit(ctx, claims, options)
	if err != nil {
		return nil, err
	}
	unbound, err := p.place(ctx, claims, entry, dry)
	if err != nil {
		return nil, err
	}
	return &placement.Placement{
		ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name, CreationTimestamp: metav1.Now()},
		Status:     placement.PlacementStatus{Unbound: unbound},
	}, nil
}

// place checks the pods, records the plan, and carries it out. It returns the pods that cannot be
// bound any more.
func (p *placements) place(
	ctx context.Context, claims *claimsCheck, entry *placementEntry, dry bool,
) ([]placement.UnboundPod, error) {
	request := claims.request
	c, err := p.newPodCheck(ctx, request, entry)
	if err != nil {
		return nil, err
	}
	if err := c.all(ctx); err != nil {
		return nil, err
	}
	switch {
	case dry || len(c.unchanged()) == 0:
		return nil, nil
	case len(entry.Pods) == 1:
		return p.placeOne(claims, entry)
	}
	name, err := c.record(ctx)
	if err != nil || name == "" {
		return nil, err
	}
	return p.carryOut(p.running, name, entry, claims.writes)
}

// placeOne creates the claims of a single pod and binds it, without a record: a server that is
// killed in between leaves claims with devices for a pod that waits, as single requests would.
func (p *placements) placeOne(claims *claimsCheck, entry *placementEntry) ([]placement.UnboundPod, error) {
	failures := p.claims.createAll(p.running, entry.Claims, claims.writes)
	if errors.Join(failures...) != nil {
		return nil, refused(claims.request, nil, failures)
	}
	return p.bindAll(p.running, entry)
}
