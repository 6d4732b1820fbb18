package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
)

// creators is the number of workers that create pods.
const creators = 30

// outcome is the result of one measurement.
type outcome struct {
	pods     int
	duration time.Duration
	latency  []time.Duration // creation → bound as seen by the watch, sorted
}

// rate returns pods per second.
func (o outcome) rate() float64 { return float64(o.pods) / o.duration.Seconds() }

func (o outcome) percentile(p int) time.Duration {
	if len(o.latency) == 0 {
		return 0
	}
	return o.latency[min(len(o.latency)-1, len(o.latency)*p/100)]
}

// watcher records when pods are bound.
type watcher struct {
	mu    sync.Mutex
	bound map[string]time.Time
	want  int
	done  chan struct{}
}

func watchBound(ctx context.Context, set *client.Set, want int) (*watcher, error) {
	w := &watcher{bound: map[string]time.Time{}, want: want, done: make(chan struct{})}
	caches := client.NewInformers(set)
	caches.Pods().OnChange(func(_, now *core.Pod) {
		if now != nil && now.Spec.NodeName != "" {
			w.note(now.Name)
		}
	})
	caches.Start(ctx)
	return w, caches.WaitForSync(ctx)
}

func (w *watcher) note(pod string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, seen := w.bound[pod]; seen {
		return
	}
	w.bound[pod] = time.Now()
	if len(w.bound) == w.want {
		close(w.done)
	}
}

func (w *watcher) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		w.mu.Lock()
		defer w.mu.Unlock()
		return fmt.Errorf("%d of %d pods are bound: %w", len(w.bound), w.want, ctx.Err())
	case <-w.done:
		return nil
	}
}

// userClient returns a client over HTTPS without a rate limit, like a user's controller has.
func userClient(kubeconfig string) (*client.Set, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	return client.New(unlimited(cfg))
}

func unlimited(cfg *rest.Config) *rest.Config {
	cfg.QPS, cfg.Burst = -1, -1
	return cfg
}

// measure creates the pods and waits until all are bound; after is called for each created pod.
func measure(
	ctx context.Context, set *client.Set, pods []*core.Pod, after func(context.Context, *core.Pod) error,
) (outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	watch, err := watchBound(ctx, set, len(pods))
	if err != nil {
		return outcome{}, err
	}
	var mu sync.Mutex
	created := make(map[string]time.Time, len(pods))
	start := time.Now()
	var workers errgroup.Group
	workers.SetLimit(creators)
	for _, pod := range pods {
		workers.Go(func() error {
			begin := time.Now()
			if _, err := set.Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create pod %s: %w", pod.Name, err)
			}
			mu.Lock()
			created[pod.Name] = begin
			mu.Unlock()
			return after(ctx, pod)
		})
	}
	if err := workers.Wait(); err != nil {
		return outcome{}, err
	}
	if err := watch.wait(ctx); err != nil {
		return outcome{}, err
	}
	out := outcome{pods: len(pods)}
	for name, at := range watch.bound {
		out.duration = max(out.duration, at.Sub(start))
		out.latency = append(out.latency, at.Sub(created[name]))
	}
	slices.Sort(out.latency)
	return out, nil
}

// trivial creates and binds n plain pods, each by two consecutive requests: the limit of the API
// path.
func trivial(ctx context.Context, set *client.Set, n int) (outcome, error) {
	pods := make([]*core.Pod, n)
	for i := range pods {
		pods[i] = newPod(fmt.Sprintf("trivial-%d", i), "")
		pods[i].Spec.SchedulerName = "trivial"
	}
	return measure(ctx, set, pods, func(ctx context.Context, pod *core.Pod) error {
		return set.Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
			Target:     corev1.ObjectReference{Kind: "Node", Name: "node-0"},
		})
	})
}
