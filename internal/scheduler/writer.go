package scheduler

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/model"
)

// groupWriter writes the status of a PodGroup. A PodGroup that does not exist is not an error.
type groupWriter interface {
	WriteGroup(ctx context.Context, group *scheduling.PodGroup) error
	// ReadGroup returns the PodGroup from the API, or nil if it does not exist.
	ReadGroup(ctx context.Context, key model.Key) (*scheduling.PodGroup, error)
	// OrderedSet reports whether the StatefulSet exists and creates its pods one by one.
	OrderedSet(ctx context.Context, set model.Key, uid types.UID) (bool, error)
}

// podWriter patches the status of a pod. A pod that does not exist is not an error. A pod that has
// changed, or was recreated, is a conflict if the patch has a UID or resource version.
type podWriter interface {
	PatchPod(ctx context.Context, pod model.Key, patch []byte) error
	// ReadPod returns the pod from the API, or nil if it does not exist.
	ReadPod(ctx context.Context, key model.Key) (*core.Pod, error)
}

// evictor deletes a pod, unless it was recreated.
type evictor interface {
	Evict(ctx context.Context, pod *model.Pod) error
}

// writer writes through a client.Set.
type writer struct {
	set *client.Set
}

func (w writer) WriteGroup(ctx context.Context, group *scheduling.PodGroup) error {
	_, err := w.set.PodGroups(group.Namespace).UpdateStatus(ctx, group, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write the conditions of podgroup %s/%s: %w", group.Namespace, group.Name, err)
	}
	return nil
}

func (w writer) WriteComposite(ctx context.Context, group *v1alpha3.CompositePodGroup) error {
	_, err := w.set.CompositePodGroups(group.Namespace).UpdateStatus(ctx, group, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write the conditions of compositepodgroup %s/%s: %w", group.Namespace, group.Name, err)
	}
	return nil
}

func (w writer) ReadComposite(ctx context.Context, key model.Key) (*v1alpha3.CompositePodGroup, error) {
	group, err := w.set.CompositePodGroups(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	return ignoreNotFound(group, err, "compositepodgroup", key)
}

func (w writer) ReadGroup(ctx context.Context, key model.Key) (*scheduling.PodGroup, error) {
	group, err := w.set.PodGroups(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	return ignoreNotFound(group, err, "podgroup", key)
}

func (w writer) OrderedSet(ctx context.Context, key model.Key, uid types.UID) (bool, error) {
	set, err := w.set.StatefulSets(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if set, err = ignoreNotFound(set, err, "statefulset", key); err != nil || set == nil {
		return false, err
	}
	return set.UID == uid && set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement, nil
}

func (w writer) PatchPod(ctx context.Context, pod model.Key, patch []byte) error {
	_, err := w.set.Pods(pod.Namespace).Patch(
		ctx,
		pod.Name,
		types.StrategicMergePatchType,
		patch,
		metav1.PatchOptions{},
		"status",
	)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write the conditions of pod %s: %w", pod, err)
	}
	return nil
}

func (w writer) ReadPod(ctx context.Context, key model.Key) (*core.Pod, error) {
	pod, err := w.set.Pods(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	return ignoreNotFound(pod, err, "pod", key)
}

// ignoreNotFound returns an object that was read, or nil if it does not exist.
func ignoreNotFound[T any](object *T, err error, kind string, key model.Key) (*T, error) {
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s %s: %w", kind, key, err)
	}
	return object, nil
}

func (w writer) Evict(ctx context.Context, pod *model.Pod) error {
	err := w.set.Pods(pod.Key.Namespace).Delete(
		ctx,
		pod.Key.Name,
		metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))},
	)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete pod %s: %w", pod.Key, err)
	}
	return nil
}
