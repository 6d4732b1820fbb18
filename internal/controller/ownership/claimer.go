package ownership

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/allot-dev/allot/internal/controller/objects"
)

// Claimer adopts and releases objects for controllers of type C, as decided by Sort.
type Claimer[C, T metav1.Object] struct {
	Kind  schema.GroupVersionKind // kind of the controllers
	Cache objects.Index[T]        // must have Index
	// Live reads a controller from the API.
	Live func(ctx context.Context, namespace, name string) (C, error)
	// Patch applies a strategic merge patch to an object.
	Patch func(ctx context.Context, obj T, patch []byte) error
	// Keep reports whether an object, such as a finished pod, is neither adopted nor released. nil
	// means that no object is kept.
	Keep func(T) bool
	// Member reports whether an object that matches the selector can belong to the controller, such
	// as a pod named after a StatefulSet. Others are treated as if they did not match. nil means
	// all.
	Member func(controller C, obj T) bool
	// Finalizers are added to adopted objects.
	Finalizers []string
}

// Claim returns the objects of the controller, after adopting and releasing.
func (c Claimer[C, T]) Claim(ctx context.Context, controller C, selector labels.Selector) ([]T, error) {
	claim := Sort(controller, selector, slices.Concat(
		c.Cache.ByIndex(Index, string(controller.GetUID())),
		c.Cache.ByIndex(Index, OrphansOf(controller.GetNamespace())),
	))
	if c.Member != nil {
		c.exclude(controller, &claim)
	}
	if c.Keep != nil {
		claim.Release = slices.DeleteFunc(claim.Release, c.Keep)
		claim.Adopt = slices.DeleteFunc(claim.Adopt, c.Keep)
	}
	for _, obj := range claim.Release {
		if err := c.release(ctx, controller, obj); err != nil {
			return nil, fmt.Errorf("release %s: %w", obj.GetName(), err)
		}
	}
	if len(claim.Adopt) == 0 {
		return claim.Owned, nil
	}
	if err := c.checkAlive(ctx, controller); err != nil {
		return nil, fmt.Errorf("adopt: %w", err)
	}
	claimed := claim.Owned
	for _, obj := range claim.Adopt {
		adopted, err := c.adopt(ctx, controller, obj)
		if err != nil {
			return nil, fmt.Errorf("adopt %s: %w", obj.GetName(), err)
		}
		if adopted {
			claimed = append(claimed, obj)
		}
	}
	return claimed, nil
}

// exclude removes objects that are not members from the claim. A controller that is being deleted
// does not release them.
func (c Claimer[C, T]) exclude(controller C, claim *Claim[T]) {
	stranger := func(obj T) bool { return !c.Member(controller, obj) }
	claim.Adopt = slices.DeleteFunc(claim.Adopt, stranger)
	if controller.GetDeletionTimestamp() == nil {
		for _, obj := range claim.Owned {
			if stranger(obj) {
				claim.Release = append(claim.Release, obj)
			}
		}
	}
	claim.Owned = slices.DeleteFunc(claim.Owned, stranger)
}

// checkAlive reads the controller from the API before adoption. Otherwise objects that an orphaning
// deletion of the controller left behind would be adopted again.
func (c Claimer[C, T]) checkAlive(ctx context.Context, controller C) error {
	live, err := c.Live(ctx, controller.GetNamespace(), controller.GetName())
	if err != nil {
		return err
	}
	if live.GetUID() != controller.GetUID() || live.GetDeletionTimestamp() != nil {
		return errors.New("the owner has just been deleted")
	}
	return nil
}

func (c Claimer[C, T]) release(ctx context.Context, controller C, obj T) error {
	patch, err := ReleasePatch(controller, obj)
	if err != nil {
		return err
	}
	if err := c.Patch(ctx, obj, patch); !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// adopt reports whether the object still existed and was adopted.
func (c Claimer[C, T]) adopt(ctx context.Context, controller C, obj T) (bool, error) {
	patch, err := AdoptPatch(controller, c.Kind, obj, c.Finalizers...)
	if err != nil {
		return false, err
	}
	err = c.Patch(ctx, obj, patch)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
