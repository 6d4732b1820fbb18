package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	apistorage "k8s.io/apiserver/pkg/storage"
	"k8s.io/klog/v2"

	core "github.com/allot-dev/allot/api/core/v1"
	placement "github.com/allot-dev/allot/api/placement/v1alpha2"
	resource "github.com/allot-dev/allot/api/resource/v1"
)

// Journal stores what must be written as a whole. An entry that was begun and not ended is carried
// out when the server starts again.
type Journal interface {
	// Begin stores an entry with a new name if every object has its version, which is all one
	// transaction. Otherwise it returns the objects that have another version, or were deleted. An
	// object with the version 0 must not exist. The keys are those of the storage.
	Begin(ctx context.Context, name string, entry []byte, versions map[string]int64) (changed []string, err error)
	// End removes an entry.
	End(ctx context.Context, name string) error
	// Open returns the entries that were not ended, by name.
	Open(ctx context.Context) (map[string][]byte, error)
}

// placementEntry is the entry of a Placement in the journal.
type placementEntry struct {
	Namespace string          `json:"namespace"`
	Pods      []placementBind `json:"pods"`
	// Claims are the claims to create before the pods are bound. Each has its UID.
	Claims []*resource.ResourceClaim `json:"claims,omitempty"`
}

// placementBind is one bind of an entry. The UID is always set.
type placementBind struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
	Node string    `json:"node"`
	// Labels and Annotations are those of the Binding, which admission may have added.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func (b *placementBind) binding(namespace string) *corev1.Binding {
	return &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   namespace,
			Name:        b.Name,
			UID:         b.UID,
			Labels:      b.Labels,
			Annotations: b.Annotations,
		},
		Target: corev1.ObjectReference{Kind: "Node", Name: b.Node},
	}
}

// record stores the entry in the journal if no pod has changed since it was checked, and otherwise
// returns the keys of those that have.
func (p *placements) record(
	entry *placementEntry, versions map[string]int64,
) (name string, changed []string, err error) {
	encoded, err := json.Marshal(entry)
	if err != nil {
		return "", nil, fmt.Errorf("encode the placement: %w", err)
	}
	name = uuid.NewString()
	changed, err = p.journal.Begin(p.running, name, encoded, versions)
	return name, changed, err
}

// resume carries out the entries that another process has begun. It must be called before requests
// are served, so that no client sees a part of one.
func (p *placements) resume(ctx context.Context) error {
	open, err := p.journal.Open(ctx)
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	for name, encoded := range open {
		entry := &placementEntry{}
		if err := json.Unmarshal(encoded, entry); err != nil {
			return fmt.Errorf("entry %s of the journal: %w", name, err)
		}
		klog.FromContext(ctx).Info(
			"Completing a placement that was interrupted",
			"namespace",
			entry.Namespace,
			"pods",
			len(entry.Pods),
		)
		if _, err := p.carryOut(ctx, name, entry, nil); err != nil {
			return err
		}
	}
	return nil
}

const (
	// placementWorkers is the number of concurrent writes of a placement. Etcd stores concurrent
	// writes together.
	placementWorkers = 64
	// placementPause is the delay before a write is repeated that the storage did not make.
	placementPause = 100 * time.Millisecond
)

// carryOut creates the claims and binds the pods of a recorded entry, and removes it. It returns the
// pods that cannot be bound any more. A write that fails for another reason is repeated until ctx
// ends; the entry stays then. writes are as for createAll.
func (p *placements) carryOut(
	ctx context.Context, name string, entry *placementEntry, writes []*deviceWrite,
) (unbound []placement.UnboundPod, err error) {
	failure := errors.Join(p.claims.createAll(ctx, entry.Claims, writes)...)
	switch {
	case failure == nil:
		unbound, err = p.bindAll(ctx, entry)
	case errors.As(failure, &unbindableError{}):
		// Another server on the same etcd has created a claim with this name, or allocated a device,
		// since the entry was recorded.
		for i := range entry.Pods {
			unbound = append(unbound, placement.UnboundPod{Name: entry.Pods[i].Name, Message: failure.Error()})
		}
	default:
		err = fmt.Errorf("create the claims of a placement: %w", failure)
	}
	if err != nil {
		return nil, err
	}
	return unbound, untilDone(ctx, func() error { return p.journal.End(ctx, name) })
}

// bindAll binds the pods of an entry, and returns those that cannot be bound any more.
func (p *placements) bindAll(ctx context.Context, entry *placementEntry) ([]placement.UnboundPod, error) {
	failures := make([]error, len(entry.Pods))
	inParallel(len(entry.Pods), placementWorkers, func(i int) {
		failures[i] = p.bind(ctx, entry.Namespace, &entry.Pods[i])
	})
	var unbound []placement.UnboundPod
	for i, failure := range failures {
		var reason unbindableError
		switch {
		case errors.As(failure, &reason):
			unbound = append(unbound, placement.UnboundPod{Name: entry.Pods[i].Name, Message: reason.Error()})
		case failure != nil:
			return nil, fmt.Errorf("bind pod %s: %w", entry.Pods[i].Name, failure)
		}
	}
	return unbound, nil
}

// unbindableError is the reason why a pod cannot be bound, or a claim not created, whatever happens.
type unbindableError struct{ error }

func (e unbindableError) Unwrap() error { return e.error }

// bind binds one pod of a recorded entry.
func (p *placements) bind(ctx context.Context, namespace string, b *placementBind) error {
	ctx = genericapirequest.WithNamespace(ctx, namespace)
	key, err := p.pods.KeyFunc(ctx, b.Name)
	if err != nil {
		return unbindableError{err}
	}
	binding := b.binding(namespace)
	return untilDone(ctx, func() error {
		err := p.pods.Storage.GuaranteedUpdate(ctx, key, &core.Pod{}, false, bindPreconditions(binding),
			apistorage.SimpleUpdate(func(existing runtime.Object) (runtime.Object, error) {
				pod := existing.(*core.Pod)
				if pod.Spec.NodeName == b.Node {
					return pod, nil
				}
				if err := bindPod(pod, binding); err != nil {
					return nil, unbindableError{err}
				}
				return pod, nil
			}), false, nil)
		if apistorage.IsNotFound(err) || apistorage.IsInvalidObj(err) {
			return unbindableError{fmt.Errorf("pod %s was deleted", b.Name)}
		}
		return err
	})
}

// untilDone repeats a write until it is made or cannot be made.
func untilDone(ctx context.Context, write func() error) error {
	for {
		err := write()
		if err == nil || errors.As(err, &unbindableError{}) || ctx.Err() != nil {
			return err
		}
		klog.FromContext(ctx).V(2).Info("Repeating a write of a placement", "err", err)
		pause(ctx, placementPause)
	}
}
