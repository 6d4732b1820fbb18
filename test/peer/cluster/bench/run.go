package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// creators is the number of concurrent creates.
	creators = 30
	// settle is the time between the last object of the preparation and the first measured pod, in
	// which the parts of the control plane see the objects.
	settle = 2 * time.Second
	// quietFor is the time for which the control plane uses less than quietCPU when it is quiet.
	quietFor = time.Second
	quietCPU = 100 * time.Millisecond
	// quietPatience limits the time until it is.
	quietPatience = 30 * time.Second
)

// run is the measurement of one workload on a control plane.
type run struct {
	control  *controlPlane
	client   kubernetes.Interface
	meter    *meter
	workload *workload
}

func newRun(control *controlPlane, w *workload) (*run, error) {
	client, err := kubernetes.NewForConfig(withCodec(control.config))
	if err != nil {
		return nil, err
	}
	return &run{control: control, client: client, meter: &meter{control.processes, client}, workload: w}, nil
}

// withCodec returns a configuration for protobuf without a limit of requests.
func withCodec(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config
}

// measure prepares the workload, creates its pods, and waits until all are on nodes, at most for the
// limit.
func (r *run) measure(ctx context.Context, limit time.Duration) (m measurement, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	bound, err := watchBound(ctx, r.client)
	if err != nil {
		return m, err
	}
	if err := r.prepare(ctx, bound); err != nil {
		return m, fmt.Errorf("prepare: %w", err)
	}
	if err := r.quiet(ctx, settle); err != nil {
		return m, err
	}
	before, err := r.meter.begin(ctx)
	if err != nil {
		return m, err
	}
	created, err := r.createPods(ctx)
	if err != nil {
		return m, err
	}
	limited, stop := context.WithTimeout(ctx, limit)
	defer stop()
	if err := bound.wait(limited, r.workload.pods); err != nil && ctx.Err() != nil {
		return m, err
	}
	atLast, err := r.meter.read(ctx)
	if err != nil {
		return m, err
	}
	if err := r.quiet(ctx, 0); err != nil {
		return m, err
	}
	after, err := r.meter.read(ctx)
	if err != nil {
		return m, err
	}
	return newMeasurement(created, bound.times(), before, atLast, after), nil
}

// prepare creates everything but the measured pods.
func (r *run) prepare(ctx context.Context, bound *boundPods) error {
	if err := r.awaitNamespace(ctx); err != nil {
		return err
	}
	w, resources := r.workload, r.client.ResourceV1()
	if _, err := resources.DeviceClasses().Create(ctx, deviceClass(), metav1.CreateOptions{}); err != nil {
		return err
	}
	templates := resources.ResourceClaimTemplates(namespace)
	if _, err := templates.Create(ctx, claimTemplate(), metav1.CreateOptions{}); err != nil {
		return err
	}
	return errors.Join(
		each(w.nodes, func(n *corev1.Node) error {
			_, err := r.client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
			return err
		}),
		each(w.slices, func(s *resourcev1.ResourceSlice) error {
			_, err := resources.ResourceSlices().Create(ctx, s, metav1.CreateOptions{})
			return err
		}),
		each(w.claims, func(c *resourcev1.ResourceClaim) error {
			_, err := resources.ResourceClaims(namespace).Create(ctx, c, metav1.CreateOptions{})
			return err
		}),
		each(w.held, func(c *resourcev1.ResourceClaim) error { return r.hold(ctx, c) }),
		each(w.groups, func(g *schedulingv1beta1.PodGroup) error {
			_, err := r.client.SchedulingV1beta1().PodGroups(namespace).Create(ctx, g, metav1.CreateOptions{})
			return err
		}),
		each(w.before, func(p *corev1.Pod) error { return r.createPod(ctx, p) }),
		bound.wait(ctx, w.before),
	)
}

// awaitNamespace waits until the namespace has the service account without which no pod is admitted.
func (r *run) awaitNamespace(ctx context.Context) error {
	for {
		_, err := r.client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// hold creates a claim and allocates it.
func (r *run) hold(ctx context.Context, claim *resourcev1.ResourceClaim) error {
	claims := r.client.ResourceV1().ResourceClaims(namespace)
	created, err := claims.Create(ctx, claim, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	created.Status = claim.Status
	_, err = claims.UpdateStatus(ctx, created, metav1.UpdateOptions{})
	return err
}

// createPods creates the measured pods, and returns when each create began.
func (r *run) createPods(ctx context.Context) (map[string]time.Time, error) {
	created := make(map[string]time.Time, len(r.workload.pods))
	times := make(chan func(), creators)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for record := range times {
			record()
		}
	}()
	err := each(r.workload.pods, func(p *corev1.Pod) error {
		began := time.Now()
		times <- func() { created[p.Name] = began }
		if err := r.createPod(ctx, p); err != nil || !r.workload.trivial {
			return err
		}
		node := r.workload.nodes[len(p.Name)%len(r.workload.nodes)].Name
		return r.client.CoreV1().Pods(namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.Name},
			Target:     corev1.ObjectReference{Kind: "Node", Name: node},
		}, metav1.CreateOptions{})
	})
	close(times)
	<-done
	return created, err
}

func (r *run) createPod(ctx context.Context, pod *corev1.Pod) error {
	_, err := r.client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

// quiet waits for a time, and then until the control plane is quiet or the patience ends.
func (r *run) quiet(ctx context.Context, first time.Duration) error {
	if err := sleep(ctx, first); err != nil {
		return err
	}
	last, err := r.meter.cpu()
	for end := time.Now().Add(quietPatience); err == nil && time.Now().Before(end); {
		if err = sleep(ctx, quietFor); err != nil {
			return err
		}
		var now time.Duration
		if now, err = r.meter.cpu(); now-last < quietCPU {
			return err
		}
		last = now
	}
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// each calls do for all items, a limited number at a time, and returns the first error.
func each[T any](items []T, do func(T) error) error {
	var g errgroup.Group
	g.SetLimit(creators)
	for _, item := range items {
		g.Go(func() error { return do(item) })
	}
	return g.Wait()
}
