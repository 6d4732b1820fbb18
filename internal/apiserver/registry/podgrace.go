package registry

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	core "github.com/allot-dev/allot/api/core/v1"
)

// askedGrace is the context's key of the grace period that a client has asked for.
type askedGrace struct{}

// withAskedGrace keeps the grace period that a client has asked for, if any. The options do not: the store decides again when it finds
// that it has decided on an older pod, which its cache had, and by then they have the period of that one.
func withAskedGrace(ctx context.Context, options *metav1.DeleteOptions) context.Context {
	if options == nil {
		return ctx
	}
	return context.WithValue(ctx, askedGrace{}, options.GracePeriodSeconds)
}

// podGracePeriod lets a pod that runs on a node end by itself. The node deletes it
// with grace period 0 when it has. A pod that was never placed, or has finished,
// goes at once.
func podGracePeriod(ctx context.Context, p *core.Pod, options *metav1.DeleteOptions) bool {
	asked := options.GracePeriodSeconds
	if kept, ok := ctx.Value(askedGrace{}).(*int64); ok {
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

// podStorage deletes pods with what was asked for.
type podStorage struct {
	*storage
}

// Delete implements rest.GracefulDeleter.
func (s *podStorage) Delete(
	ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	return s.storage.Delete(withAskedGrace(ctx, options), name, validate, options)
}

// DeleteCollection implements rest.CollectionDeleter.
func (s *podStorage) DeleteCollection(
	ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, list *internalversion.ListOptions,
) (runtime.Object, error) {
	return s.storage.DeleteCollection(withAskedGrace(ctx, options), validate, options, list)
}
