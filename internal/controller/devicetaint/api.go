package devicetaint

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/podserver"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// workers is how many pods are looked at, or deleted, at once.
const workers = 8

// New returns the controller of the pods in inf's caches; it must be called before inf is started.
func New(set *client.Set, inf *client.Informers, events reconciler.Recorder, opts Options) (*Controller, error) {
	opts = opts.withDefaults()
	if err := errors.Join(
		inf.Pods().AddIndex(claims.PodIndex, claims.PodIndexKeys),
		inf.ResourceClaims().AddIndex(claimsByPool, claimKeys),
		inf.ResourceSlices().AddIndex(slicesByPool, sliceKeys),
	); err != nil {
		return nil, err
	}
	cache := caches{pods: inf.Pods(), claims: inf.ResourceClaims(), slices: inf.ResourceSlices(), rules: inf.DeviceTaintRules()}
	limit := flowcontrol.NewTokenBucketRateLimiter(float32(opts.PerSecond), opts.PerSecond)
	c := newController(cache, api{podserver.New(set), set}, limit, events, opts)
	pods := reconciler.New("devicetaint/pods", c.reconcilePod, reconciler.Options{Workers: workers, Ready: inf.WaitForSync, Clock: opts.Clock})
	rules := reconciler.New("devicetaint/rules", c.reconcileRule, reconciler.Options{Workers: 1, Ready: inf.WaitForSync, Clock: opts.Clock})
	c.pods, c.reports = pods, rules
	c.run = func(ctx context.Context) error {
		ended := make(chan error, 1)
		go func() { ended <- rules.Run(ctx) }()
		return errors.Join(pods.Run(ctx), <-ended)
	}
	inf.Pods().OnChange(c.onPod)
	inf.ResourceClaims().OnChange(c.onClaim)
	inf.ResourceSlices().OnChange(c.onSlice)
	inf.DeviceTaintRules().OnChange(c.onRule)
	return c, nil
}

// api is the API behind a client.Set.
type api struct {
	podserver.Server
	set *client.Set
}

func (a api) MarkDisrupted(ctx context.Context, pod *core.Pod, condition corev1.PodCondition) error {
	condition.LastTransitionTime = metav1.Now()
	patch, err := client.StatusPatch(pod.UID, map[string]any{"conditions": []corev1.PodCondition{condition}})
	if err != nil {
		return err
	}
	_, err = a.set.Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

func (a api) UpdateRuleStatus(ctx context.Context, rule *resourcev1.DeviceTaintRule) error {
	_, err := a.set.DeviceTaintRules().UpdateStatus(ctx, rule, metav1.UpdateOptions{})
	return err
}
