package eviction

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/objects"
)

// Workers is the number of concurrent workers of a controller.
const Workers = 8

// NewLimiter returns a limiter for deletions per second, with a burst of the same size.
func NewLimiter(perSecond int) Limiter {
	return flowcontrol.NewTokenBucketRateLimiter(float32(perSecond), perSecond)
}

// NewServer returns the Server for a client.Set.
func NewServer(set *client.Set) Server { return api{objects.On(set.Pods), set} }

type api struct {
	objects.Server[*core.Pod, *core.PodList]
	set *client.Set
}

func (a api) MarkDisrupted(ctx context.Context, pod *core.Pod, condition corev1.PodCondition) error {
	condition.LastTransitionTime = metav1.Now()
	patch, err := client.StatusPatchOfVersion(pod, map[string]any{"conditions": []corev1.PodCondition{condition}})
	if err != nil {
		return err
	}
	_, err = a.set.Pods(pod.Namespace).Patch(
		ctx,
		pod.Name,
		types.StrategicMergePatchType,
		patch,
		metav1.PatchOptions{},
		"status",
	)
	return err
}
