package registry

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	core "github.com/allot-dev/allot/api/core/v1"
)

// requestedGraceKey is the context key of the grace period requested by a client.
type requestedGraceKey struct{}

// withRequestedGrace stores the grace period requested by a client in the context. The options do not
// keep it: the store decides again if the pod in its cache was outdated, and by then the options
// have the period for that pod.
func withRequestedGrace(ctx context.Context, options *metav1.DeleteOptions) context.Context {
	if options == nil {
		return ctx
	}
	return context.WithValue(ctx, requestedGraceKey{}, options.GracePeriodSeconds)
}

// podGracePeriod gives a pod that runs on a node time to terminate. The node then deletes it with
// grace period 0. A pod that was never bound, or has finished, is deleted immediately.
func podGracePeriod(ctx context.Context, p *core.Pod, options *metav1.DeleteOptions) bool {
	asked := options.GracePeriodSeconds
	if kept, ok := ctx.Value(requestedGraceKey{}).(*int64); ok {
		asked = kept
	}
	var period int64
	switch {
	case p.Spec.NodeName == "", p.Finished():
	case asked != nil:
		period = *asked
	case p.Spec.TerminationGracePeriodSeconds != nil:
		period = *p.Spec.TerminationGracePeriodSeconds
	}
	if period < 0 {
		period = 1
	}
	options.GracePeriodSeconds = &period
	return true
}

// podStorage deletes pods with the requested grace period.
type podStorage struct {
	*storage
}

// Delete implements rest.GracefulDeleter.
func (s *podStorage) Delete(
	ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	return s.storage.Delete(withRequestedGrace(ctx, options), name, validate, options)
}

// DeleteCollection implements rest.CollectionDeleter.
func (s *podStorage) DeleteCollection(
	ctx context.Context,
	validate rest.ValidateObjectFunc,
	options *metav1.DeleteOptions,
	list *internalversion.ListOptions,
) (runtime.Object, error) {
	return s.storage.DeleteCollection(withRequestedGrace(ctx, options), validate, options, list)
}
