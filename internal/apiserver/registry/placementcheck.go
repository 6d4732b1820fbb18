package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/util/dryrun"

	core "github.com/allot-dev/allot/api/core/v1"
	placement "github.com/allot-dev/allot/api/placement/v1alpha1"
)

var (
	placementResource = schema.GroupResource{Group: placement.GroupName, Resource: "placements"}
	bindingResource   = schema.GroupResource{Resource: "pods/binding"}
)

// admit checks for each pod what a request to pods/NAME/binding would be checked for: permission,
// and admission, which may add labels to the Binding.
func (p *placements) admit(
	ctx context.Context, request *placement.Placement, options *metav1.CreateOptions,
) (*placementEntry, error) {
	entry := &placementEntry{Namespace: request.Namespace, Pods: make([]placementBind, len(request.Spec.Pods))}
	all := p.permits(ctx, request.Namespace, "")
	refusals := make([]error, len(entry.Pods))
	inParallel(len(entry.Pods), admissionWorkers, func(i int) {
		pod, b := &request.Spec.Pods[i], &entry.Pods[i]
		*b = placementBind{Name: pod.Name, UID: pod.UID, Node: pod.NodeName}
		if !all && !p.permits(ctx, request.Namespace, pod.Name) {
			who, _ := caller(ctx)
			refusals[i] = apierrors.NewForbidden(bindingResource, pod.Name,
				fmt.Errorf("user %q may not create pods/binding", who.GetName()))
			return
		}
		binding := b.binding(request.Namespace)
		binding.ResourceVersion = pod.ResourceVersion
		refusals[i] = p.admitBinding(ctx, binding, options)
		b.Labels, b.Annotations = binding.Labels, binding.Annotations
	})
	return entry, refused(request, refusals)
}

// admissionWorkers is the number of pods that admission checks concurrently: it may call webhooks.
const admissionWorkers = 16

// permits reports whether the caller may bind a pod. An empty name means any pod.
func (p *placements) permits(ctx context.Context, namespace, name string) bool {
	who, _ := caller(ctx)
	decision, _, _ := p.access.Authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: who, Verb: "create", Namespace: namespace, APIVersion: "v1", Resource: "pods", Subresource: "binding",
		Name: name, ResourceRequest: true,
	})
	return decision == authorizer.DecisionAllow
}

func (p *placements) admitBinding(ctx context.Context, binding *corev1.Binding, options *metav1.CreateOptions) error {
	who, _ := caller(ctx)
	attributes := admission.NewAttributesRecord(
		binding,
		nil,
		corev1.SchemeGroupVersion.WithKind("Binding"),
		binding.Namespace,
		binding.Name,
		corev1.SchemeGroupVersion.WithResource("pods"),
		"binding",
		admission.Create,
		options,
		dryrun.IsDryRun(options.DryRun),
		who,
	)
	interfaces := admission.NewObjectInterfacesFromScheme(p.scheme)
	if mutating, ok := p.admission.(admission.MutationInterface); ok && mutating.Handles(admission.Create) {
		if err := mutating.Admit(ctx, attributes, interfaces); err != nil {
			return err
		}
	}
	if validating, ok := p.admission.(admission.ValidationInterface); ok && validating.Handles(admission.Create) {
		return validating.Validate(ctx, attributes, interfaces)
	}
	return nil
}

// podCheck checks whether the pods of a request can be bound. It remembers what it has seen of each,
// so that only pods that have changed are read again.
type podCheck struct {
	*placements
	request  *placement.Placement
	entry    *placementEntry
	refusals []error        // why pods cannot be bound; nil for those that can
	versions []int64        // versions of pods that are not on their nodes yet; 0 for those that are
	keys     []string       // keys in the storage
	indices  map[string]int // indices of the pods, by key
}

func (p *placements) newPodCheck(
	ctx context.Context, request *placement.Placement, entry *placementEntry,
) (*podCheck, error) {
	n := len(entry.Pods)
	c := &podCheck{
		placements: p, request: request, entry: entry, refusals: make([]error, n), versions: make([]int64, n),
		keys: make([]string, n), indices: make(map[string]int, n),
	}
	for i := range entry.Pods {
		key, err := p.pods.KeyFunc(ctx, entry.Pods[i].Name)
		if err != nil {
			return nil, err
		}
		c.keys[i], c.indices[key] = key, i
	}
	return c, nil
}

// all checks all pods. The cache of the server is sufficient, because the journal compares the
// versions; but it may lag, so that what it refuses is read from the storage. The error has every
// pod that cannot be bound.
func (c *podCheck) all(ctx context.Context) error {
	var refusedKeys []string
	for i := range c.entry.Pods {
		c.check(ctx, i, &metav1.GetOptions{ResourceVersion: "0"})
		if c.refusals[i] != nil {
			refusedKeys = append(refusedKeys, c.keys[i])
		}
	}
	if c.recheck(ctx, refusedKeys) == nil {
		return nil
	}
	// The cache may not show yet why others cannot be bound, and the error must have them all.
	return c.recheck(ctx, c.keys)
}

// recheck reads some pods from the storage, and checks them.
func (c *podCheck) recheck(ctx context.Context, keys []string) error {
	inParallel(len(keys), checkWorkers, func(k int) { c.check(ctx, c.indices[keys[k]], &metav1.GetOptions{}) })
	return refused(c.request, c.refusals)
}

// checkWorkers is the number of pods that are read concurrently from the storage.
const checkWorkers = 16

// check checks one pod.
func (c *podCheck) check(ctx context.Context, i int, options *metav1.GetOptions) {
	b := &c.entry.Pods[i]
	c.versions[i] = 0
	obj, err := c.pods.Get(ctx, b.Name, options)
	if err != nil {
		c.refusals[i] = err
		return
	}
	pod := obj.(*core.Pod)
	if c.refusals[i] = mayPlace(pod, &c.request.Spec.Pods[i]); c.refusals[i] != nil {
		return
	}
	b.UID = pod.UID
	if pod.Spec.NodeName != b.Node {
		c.versions[i] = int64(versionOf(pod.ResourceVersion))
	}
}

// unchanged returns the versions that the pods must still have when the plan is recorded, by key. It
// is empty if all are on their nodes.
func (c *podCheck) unchanged() map[string]int64 {
	versions := make(map[string]int64, len(c.keys))
	for i, version := range c.versions {
		if version > 0 {
			versions[c.keys[i]] = version
		}
	}
	return versions
}

// mayPlace returns an error if the pod is not the one of the plan, or cannot be bound to its node.
func mayPlace(pod *core.Pod, want *placement.PodPlacement) error {
	switch {
	case want.UID != "" && want.UID != pod.UID:
		return apierrors.NewConflict(bindingResource, pod.Name,
			fmt.Errorf("the UID in the precondition (%s) is not the pod's (%s)", want.UID, pod.UID))
	case pod.Spec.NodeName == want.NodeName:
		return nil
	case want.ResourceVersion != "" && want.ResourceVersion != pod.ResourceVersion:
		return apierrors.NewConflict(
			bindingResource,
			pod.Name,
			fmt.Errorf("the resourceVersion in the precondition (%s) is not the pod's (%s)", want.ResourceVersion,
				pod.ResourceVersion),
		)
	}
	if err := mayBind(pod); err != nil {
		return apierrors.NewConflict(bindingResource, pod.Name, err)
	}
	return nil
}

// refused returns an error with a cause for each pod that was refused. It is a conflict if all of
// them conflict or do not exist, and otherwise has the code of the first other one.
func refused(request *placement.Placement, refusals []error) error {
	var causes []metav1.StatusCause
	status := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusConflict, Reason: metav1.StatusReasonConflict}
	for i, refusal := range refusals {
		if refusal == nil {
			continue
		}
		reason, message := apierrors.ReasonForError(refusal), refusal.Error()
		var answer apierrors.APIStatus
		if conflict := reason == metav1.StatusReasonConflict || reason == metav1.StatusReasonNotFound; !conflict &&
			status.Code == http.StatusConflict {
			status.Code, status.Reason = http.StatusInternalServerError, metav1.StatusReasonInternalError
			if errors.As(refusal, &answer) {
				status.Code, status.Reason = answer.Status().Code, reason
			}
		}
		causes = append(causes, metav1.StatusCause{
			Type: metav1.CauseType(reason), Field: field.NewPath("spec", "pods").Index(i).String(), Message: message,
		})
	}
	if len(causes) == 0 {
		return nil
	}
	status.Message = fmt.Sprintf("%d of %d pods cannot be bound: %s", len(causes), len(refusals), causes[0].Message)
	status.Details = &metav1.StatusDetails{
		Group:  placement.GroupName,
		Kind:   "placements",
		Name:   request.Name,
		Causes: causes,
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// flights are the placements that are being written. Two placements of one pod wait for each other,
// so that the response to a request that is repeated tells how the first one ended.
type flights struct {
	mu    sync.Mutex
	byPod map[string]chan struct{}
}

func newFlights() flights { return flights{byPod: map[string]chan struct{}{}} }

// begin waits until no pod of the request is in another placement. The caller must call end.
func (f *flights) begin(ctx context.Context, request *placement.Placement) (end func(), err error) {
	for {
		other := f.tryBegin(request)
		if other == nil {
			return func() { f.end(request) }, nil
		}
		select {
		case <-ctx.Done():
			return nil, apierrors.NewTimeoutError("another placement of the same pods is being written", 1)
		case <-other:
		}
	}
}

// tryBegin returns a channel that is closed when a placement of one of the pods has ended, or nil
// if there is none.
func (f *flights) tryBegin(request *placement.Placement) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range request.Spec.Pods {
		if other, ok := f.byPod[flightKey(request, i)]; ok {
			return other
		}
	}
	mine := make(chan struct{})
	for i := range request.Spec.Pods {
		f.byPod[flightKey(request, i)] = mine
	}
	return nil
}

func (f *flights) end(request *placement.Placement) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.byPod[flightKey(request, 0)])
	for i := range request.Spec.Pods {
		delete(f.byPod, flightKey(request, i))
	}
}

func flightKey(request *placement.Placement, i int) string {
	return request.Namespace + "/" + request.Spec.Pods[i].Name
}

// inParallel calls f for 0 to n-1, at most workers at a time, and returns when all have returned.
func inParallel(n, workers int, f func(i int)) {
	var running sync.WaitGroup
	next := make(chan int)
	for range min(n, workers) {
		running.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	running.Wait()
}
