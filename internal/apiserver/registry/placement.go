package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"

	placement "github.com/allot-dev/allot/api/placement/v1alpha1"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// placements serves POST placements, which binds all pods of a plan or none (R50, docs/adr/0009).
//
// Each pod is checked as by a request of its own to pods/NAME/binding. If all can be bound, the
// plan is recorded in the journal, on the condition that no pod has changed since it was checked.
// From then on it is carried out, whatever happens to the request or the server: by the request, or
// by [placements.resume] when the server starts again.
type placements struct {
	pods      *genericregistry.Store
	access    Access
	journal   Journal
	scheme    *runtime.Scheme
	admission admission.Interface // set before the first request
	flights   flights
	// running ends when the server stops, and stop ends it.
	running context.Context
	stop    context.CancelFunc
}

var _ rest.Creater = &placements{}

func newPlacements(pods *genericregistry.Store, cfg Config) *placements {
	running, stop := context.WithCancel(context.Background())
	return &placements{
		pods: pods, access: cfg.Access, journal: cfg.Journal, scheme: cfg.Scheme,
		flights: newFlights(), running: running, stop: stop,
	}
}

// New implements rest.Storage.
func (p *placements) New() runtime.Object { return &placement.Placement{} }

// Destroy implements rest.Storage.
func (p *placements) Destroy() { p.stop() }

// NamespaceScoped implements rest.Scoper.
func (p *placements) NamespaceScoped() bool { return true }

// GetSingularName implements rest.SingularNameProvider.
func (p *placements) GetSingularName() string { return "placement" }

// placementPatience is the time after which a placement is refused whose pods change again and again
// between their check and the record. Each pod of a large gang may get a new condition meanwhile,
// which takes some seconds; a refusal would cost the gang its devices.
const placementPatience = 10 * time.Second

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
	end, err := p.flights.begin(ctx, request)
	if err != nil {
		return nil, err
	}
	defer end()
	dry := dryrun.IsDryRun(options.DryRun)
	entry, err := p.admit(ctx, request, options)
	if err != nil {
		return nil, err
	}
	unbound, err := p.place(ctx, request, entry, dry)
	if err != nil {
		return nil, err
	}
	return &placement.Placement{
		ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name, CreationTimestamp: metav1.Now()},
		Status:     placement.PlacementStatus{Unbound: unbound},
	}, nil
}

// place checks the pods, records the plan, and carries it out.
func (p *placements) place(
	ctx context.Context, request *placement.Placement, entry *placementEntry, dry bool,
) ([]placement.UnboundPod, error) {
	c, err := p.newPodCheck(ctx, request, entry)
	if err != nil {
		return nil, err
	}
	if err := c.all(ctx); err != nil {
		return nil, err
	}
	for began := time.Now(); ; {
		versions := c.unchanged()
		if dry || len(versions) == 0 {
			return nil, nil
		}
		name, changed, err := p.record(entry, versions)
		switch {
		case err != nil:
			return nil, err
		case len(changed) == 0:
			return p.carryOut(p.running, name, entry)
		case time.Since(began) > placementPatience:
			return nil, apierrors.NewConflict(placementResource, request.Name, errors.New("the pods change too often"))
		}
		if err := c.recheck(ctx, changed); err != nil {
			return nil, err
		}
	}
}
