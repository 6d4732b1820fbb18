package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runPatience limits the time until all pods of a workload run: other workloads hold devices for
// some time, and components are killed meanwhile.
const runPatience = 4 * time.Minute

// workload is a kind of workload: its manifest, the number of pods, and the changes to make.
type workload struct {
	name     string
	kind     string
	manifest string // with NAME and COUNT to replace
	most     int    // maximum COUNT, at least 1
	phase    string // phase that its pods reach
	change   string // patch that starts a rollout, or ""
	scales   bool
}

const podSpec = `
      metadata: {labels: {work: NAME}}
      spec:
        containers: [{name: c, image: "image:1"}]
`

const claimSpec = podSpec + `        resourceClaims: [{name: d, resourceClaimTemplateName: one}]
`

func indent(s string, by int) string {
	return strings.ReplaceAll(s, "\n      ", "\n"+strings.Repeat(" ", by))
}

var workloads = []workload{
	{name: "gang", kind: "PodGroup", most: 6, phase: "Running"},
	{name: "deployment", kind: "Deployment", most: 6, phase: "Running", scales: true,
		change: `{"spec":{"template":{"metadata":{"annotations":{"roll":"1"}}}}}`, manifest: `apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  replicas: COUNT
  selector: {matchLabels: {work: NAME}}
  template:` + indent(claimSpec, 4)},
	{name: "statefulset", kind: "StatefulSet", most: 4, phase: "Running", scales: true,
		change: `{"spec":{"template":{"metadata":{"annotations":{"roll":"1"}}}}}`, manifest: `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: NAME}
spec:
  replicas: COUNT
  serviceName: NAME
  selector: {matchLabels: {work: NAME}}
  template:` + indent(podSpec, 4)},
	{name: "job", kind: "Job", most: 6, phase: "Succeeded", manifest: `apiVersion: batch/v1
kind: Job
metadata: {name: NAME}
spec:
  completions: COUNT
  parallelism: 3
  template:
    metadata: {labels: {work: NAME}, annotations: {allot.dev/run-for: 200ms}}
    spec:
      restartPolicy: Never
      containers: [{name: c, image: "image:1"}]
      resourceClaims: [{name: d, resourceClaimTemplateName: one}]
`},
}

// gang returns a PodGroup whose pods share a claim and have one each.
func gang(name string, count int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: %s, labels: {work: %s}}
spec:
  schedulingPolicy: {gang: {minCount: %d}}
`, name, name, count)
	for i := range count {
		fmt.Fprintf(&b, `
---
apiVersion: v1
kind: Pod
metadata: {name: %s-%d, labels: {work: %s}}
spec:
  schedulingGroup: {podGroupName: %s}
  containers: [{name: c, image: "image:1"}]
  resourceClaims: [{name: d, resourceClaimTemplateName: one}]
`, name, i, name, name)
	}
	return b.String()
}

// load creates workloads, waits until they run, changes and deletes them.
type load struct {
	options
	api   *api
	until time.Time
	done  atomic.Int64

	mu     sync.Mutex
	kinds  map[string]int
	choice *rand.Rand
	next   int
}

func newLoad(o options, a *api, began time.Time) *load {
	return &load{
		options: o,
		api:     a,
		until:   began.Add(o.time),
		kinds:   map[string]int{},
		choice:  rand.New(rand.NewPCG(o.seed, 2)),
	}
}

// plan is one workload with the random choices for it.
type plan struct {
	workload
	id          string
	count       int
	rolls       bool
	scaleTo     int
	propagation metav1.DeletionPropagation
	early       bool // deleted before it runs
}

func (l *load) plan() (plan, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next >= l.rounds || time.Now().After(l.until) {
		return plan{}, false
	}
	p := plan{workload: workloads[l.choice.IntN(len(workloads))]}
	p.id = fmt.Sprintf("%s-%d", p.name, l.next)
	p.count = 1 + l.choice.IntN(p.most)
	p.rolls, p.early = l.choice.IntN(3) == 0, l.choice.IntN(5) == 0
	p.scaleTo = l.choice.IntN(p.most + 1)
	p.propagation = []metav1.DeletionPropagation{metav1.DeletePropagationBackground,
		metav1.DeletePropagationForeground}[l.choice.IntN(2)]
	l.next++
	l.kinds[p.name]++
	return p, true
}

// run creates all workloads, some of them concurrently.
func (l *load) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	for range l.workers {
		workers.Go(func() {
			for ctx.Err() == nil {
				p, more := l.plan()
				if !more {
					return
				}
				if err := l.play(ctx, p); err != nil {
					cancel(fmt.Errorf("%s (count %d, rolls %t, scaled to %d): %w", p.id, p.count, p.rolls, p.scaleTo, err))
					return
				}
				if n := l.done.Add(1); n%25 == 0 {
					log.Printf("%d workloads", n)
				}
			}
		})
	}
	workers.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return ctx.Err()
}

// play creates a workload, changes it, deletes it, and waits until nothing of it is left.
func (l *load) play(ctx context.Context, p plan) error {
	manifest := strings.NewReplacer("NAME", p.id, "COUNT", fmt.Sprint(p.count)).Replace(p.manifest)
	if p.kind == "PodGroup" {
		manifest = gang(p.id, p.count)
	}
	if err := l.api.create(ctx, manifest); err != nil {
		return err
	}
	if !p.early {
		if err := l.settle(ctx, p, p.count); err != nil {
			return err
		}
		if err := l.update(ctx, p); err != nil {
			return err
		}
	}
	if p.kind == "PodGroup" {
		for i := range p.count {
			if err := l.api.remove(ctx, "Pod", fmt.Sprintf("%s-%d", p.id, i), p.propagation); err != nil {
				return err
			}
		}
	}
	if err := l.api.remove(ctx, p.kind, p.id, p.propagation); err != nil {
		return err
	}
	return until(ctx, runPatience, func() error {
		all, _, err := l.api.count(ctx, "Pod", "work="+p.id, "")
		if err == nil && all > 0 {
			err = fmt.Errorf("%d pods are left after the deletion", all)
		}
		return err
	})
}

// update changes the template and the number of pods of a workload, if the plan says so.
func (l *load) update(ctx context.Context, p plan) error {
	if p.rolls && p.change != "" {
		if err := l.api.patch(ctx, p.kind, p.id, p.change); err != nil {
			return err
		}
	}
	if !p.scales {
		return nil
	}
	if err := l.api.patch(ctx, p.kind, p.id, fmt.Sprintf(`{"spec":{"replicas":%d}}`, p.scaleTo)); err != nil {
		return err
	}
	return l.settle(ctx, p, p.scaleTo)
}

// settle waits until exactly this many pods exist, all in the phase.
func (l *load) settle(ctx context.Context, p plan, want int) error {
	return until(ctx, runPatience, func() error {
		all, in, err := l.api.count(ctx, "Pod", "work="+p.id, p.phase)
		if err == nil && (in != want || all != want && p.phase == "Running") {
			err = fmt.Errorf("%d pods, %d of them %s, want %d", all, in, p.phase, want)
		}
		return err
	})
}

func (l *load) summary() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, w := range workloads {
		out = append(out, fmt.Sprintf("%d of kind %s", l.kinds[w.name], w.name))
	}
	return strings.Join(out, ", ")
}
