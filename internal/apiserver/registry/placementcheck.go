package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apistorage "k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/util/dryrun"

	core "github.com/allot-dev/allot/api/core/v1"
	placement "github.com/allot-dev/allot/api/placement/v1alpha2"
)

var (
	placementResource = schema.GroupResource{Group: placement.GroupName, Resource: "placements"}
	bindingResource   = schema.GroupResource{Resource: "pods/binding"}
)

// admit checks for each pod what a request to pods/NAME/binding would be checked for: permission,
// and admission, which may add labels to the Binding. The claims are checked likewise. The error has
// a cause for each pod and claim that is refused.
func (p *placements) admit(
	ctx context.Context, claims *claimsCheck, options *metav1.CreateOptions,
) (*placementEntry, error) {
	request := claims.request
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
	var refusedClaims []error
	entry.Claims, refusedClaims = claims.all(ctx)
	return entry, refused(request, refusals, refusedClaims)
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
	absent   map[string]int // indices of the claims that must not exist, by key
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
	var err error
	c.absent, err = p.claims.absent(ctx, entry.Claims)
	return c, err
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

// recheck reads some pods from the storage, and checks them. Claims that exist must be those of an
// earlier attempt.
func (c *podCheck) recheck(ctx context.Context, keys []string) error {
	refusedClaims := make([]error, len(c.entry.Claims))
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		i, isClaim := c.absent[key]
		if isClaim {
			refusedClaims[i] = c.recheckClaim(ctx, key, i)
		}
		return isClaim
	})
	inParallel(len(keys), checkWorkers, func(k int) { c.check(ctx, c.indices[keys[k]], &metav1.GetOptions{}) })
	return refused(c.request, c.refusals, refusedClaims)
}

// recheckClaim returns an error if another claim exists under the name of one of the request.
func (c *podCheck) recheckClaim(ctx context.Context, key string, i int) error {
	_, err := c.claims.earlier(ctx, key, c.entry.Claims[i])
	if apistorage.IsNotFound(err) {
		return nil
	}
	delete(c.absent, key)
	return err
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

// placementPatience is the time after which a placement is refused whose pods change again and again
// between their check and the record, although updates wait: another server of the same etcd, which
// does not know of the hold, writes them.
const placementPatience = 10 * time.Second

// record records the entry in the journal, on the condition that no pod has changed since it was
// checked and that no claim exists. What has changed is checked again. The name of the record is
// empty if all pods are on their nodes by now.
func (c *podCheck) record(ctx context.Context) (name string, err error) {
	release := c.holds.hold(c.entry)
	defer release()
	for began := time.Now(); ; {
		versions := c.unchanged()
		if len(versions) == 0 {
			return "", nil
		}
		for key := range c.absent {
			versions[key] = 0
		}
		name, changed, err := c.placements.record(c.entry, versions)
		switch {
		case err != nil || len(changed) == 0:
			return name, err
		case time.Since(began) > placementPatience:
			return "", apierrors.NewConflict(placementResource, c.request.Name, errors.New("the pods change too often"))
		}
		if err := c.recheck(ctx, changed); err != nil {
			return "", err
		}
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
