package devicetaint

import (
	"context"
	"errors"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/eviction"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// New returns the controller of the pods in inf's caches. It must be called before inf is started.
func New(set *client.Set, inf *client.Informers, events reconciler.Recorder, opts Options) (*Controller, error) {
	opts = opts.withDefaults()
	if err := errors.Join(
		inf.Pods().AddIndex(claims.PodIndex, claims.PodIndexKeys),
		inf.ResourceClaims().AddIndex(claimsByPool, claimKeys),
		inf.ResourceSlices().AddIndex(slicesByPool, sliceKeys),
	); err != nil {
		return nil, err
	}
	cache := caches{
		pods:   inf.Pods(),
		claims: inf.ResourceClaims(),
		slices: inf.ResourceSlices(),
		rules:  inf.DeviceTaintRules(),
	}
	c := newController(cache, api{eviction.NewServer(set), set}, eviction.NewLimiter(opts.PerSecond), events, opts)
	pods := reconciler.New("devicetaint/pods", c.evictor.Reconcile,
		reconciler.Options{Workers: eviction.Workers, Ready: inf.WaitForSync, Clock: opts.Clock})
	rules := reconciler.New("devicetaint/rules", c.reconcileRule,
		reconciler.Options{Workers: 1, Ready: inf.WaitForSync, Clock: opts.Clock})
	c.evictor.Queue, c.reports = pods, rules
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

// api implements server with a client.Set.
type api struct {
	eviction.Server
	set *client.Set
}

// LiveClaim reads a claim from the API.
func (a api) LiveClaim(ctx context.Context, namespace, name string) (*resource.ResourceClaim, error) {
	return a.set.ResourceClaims(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (a api) UpdateRuleStatus(ctx context.Context, rule *resourcev1.DeviceTaintRule) error {
	_, err := a.set.DeviceTaintRules().UpdateStatus(ctx, rule, metav1.UpdateOptions{})
	return err
}
