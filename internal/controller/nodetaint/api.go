package nodetaint

import (
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/eviction"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// New returns the controller of the pods in inf's caches. It must be called before inf is started.
func New(set *client.Set, inf *client.Informers, events reconciler.Recorder, opts Options) (*Controller, error) {
	opts = opts.withDefaults()
	if err := inf.Pods().AddIndex(client.PodsByNode, client.PodNodes); err != nil {
		return nil, err
	}
	c := newController(inf.Pods(), inf.Nodes(), eviction.Config{
		Server: eviction.NewServer(set), Limit: eviction.NewLimiter(opts.PerSecond), Events: events, Clock: opts.Clock,
		Evicted: func(eviction.Verdict) { opts.Evicted() },
	})
	runner := reconciler.New("nodetaint", c.evictor.Reconcile,
		reconciler.Options{Workers: eviction.Workers, Ready: inf.WaitForSync, Clock: opts.Clock})
	c.evictor.Queue, c.run = runner, runner.Run
	inf.Pods().OnChange(c.onPod)
	inf.Nodes().OnChange(c.onNode)
	return c, nil
}
