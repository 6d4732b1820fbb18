package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/fleet"
)

// collections creates pods that have no place and deletes them by one request, without and with a
// claim for each, and prints what each step took. The CPU time is that of the whole process: the
// server, all parts and the client.
func collections(ctx context.Context, pods int) error {
	_, user, stop, err := start(ctx, fleet.Simple(10, 0))
	if err != nil {
		return err
	}
	defer stop()
	if err := prepare(ctx, user, workload{}); err != nil {
		return err
	}
	seen, err := watchTally(ctx, user)
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(out, "step\tobjects\tseconds\tCPU seconds\tpeak MB")
	for _, claims := range []int{0, pods} {
		for _, s := range []step{
			{"create", pods, func() error { return createWaiting(ctx, user, pods, claims > 0) }},
			{"each waits, with the reason", pods + claims, func() error {
				return seen.await(ctx, func(t counts) bool { return t.pods == pods && t.waiting == pods && t.claims == claims })
			}},
			{"delete", pods, func() error {
				return user.Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
			}},
			{"nothing is left", pods + claims, func() error {
				return seen.await(ctx,
					func(t counts) bool { return t == (counts{}) })
			}},
		} {
			if err := s.measure(ctx, out); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return nil
}

// step is a part of the measurement.
type step struct {
	name    string
	objects int
	do      func() error
}

func (s step) measure(ctx context.Context, out *tabwriter.Writer) error {
	peak, cpu, began := watchMemory(ctx), cpuTime(), time.Now()
	err := s.do()
	fmt.Fprintf(out, "%s\t%d\t%.1f\t%.1f\t%d\n", s.name, s.objects, time.Since(began).Seconds(),
		(cpuTime() - cpu).Seconds(), peak())
	out.Flush()
	return err
}

// cpuTime returns the CPU time that this process has used.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // the arguments are constant
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// createWaiting creates pods for which there is no node.
func createWaiting(ctx context.Context, user *client.Set, pods int, claims bool) error {
	var workers errgroup.Group
	workers.SetLimit(creators)
	for i := range pods {
		workers.Go(func() error {
			pod := newPod(fmt.Sprintf("waiting-%d", i), "")
			pod.Spec.NodeSelector = map[string]string{"example.com/exists": "no"}
			if claims {
				pod.Spec.ResourceClaims = []core.PodResourceClaim{{
					PodResourceClaim: corev1.PodResourceClaim{Name: "device", ResourceClaimTemplateName: ptr.To(template)},
				}}
			}
			_, err := user.Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
			return err
		})
	}
	return workers.Wait()
}

// counts are numbers of objects.
type counts struct{ pods, waiting, claims int }

// tally counts the objects that watches show.
type tally struct {
	mu  sync.Mutex
	now counts
}

func watchTally(ctx context.Context, set *client.Set) (*tally, error) {
	t := &tally{}
	caches := client.NewInformers(set)
	caches.Pods().OnChange(func(before, after *core.Pod) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.now.pods += existsCount(after != nil) - existsCount(before != nil)
		t.now.waiting += existsCount(isUnschedulable(after)) - existsCount(isUnschedulable(before))
	})
	caches.ResourceClaims().OnChange(func(before, after *resource.ResourceClaim) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.now.claims += existsCount(after != nil) - existsCount(before != nil)
	})
	caches.Start(ctx)
	return t, caches.WaitForSync(ctx)
}

func existsCount(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// isUnschedulable reports whether the pod says why it waits.
func isUnschedulable(pod *core.Pod) bool {
	if pod == nil {
		return false
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
			return true
		}
	}
	return false
}

// await waits until the counts are as wanted.
func (t *tally) await(ctx context.Context, wanted func(counts) bool) error {
	for {
		t.mu.Lock()
		now := t.now
		t.mu.Unlock()
		if wanted(now) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%+v: %w", now, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}
