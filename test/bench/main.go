package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/app"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/fleet"
)

func main() {
	log.SetFlags(0)
	names := flag.String("workload", "a,b,c,d,e", "which workloads to run")
	runs := flag.Int("runs", 1, "how often to run each")
	profile := flag.String("cpuprofile", "", "write a CPU profile of the measured part to this file")
	many := flag.Int("collections", 0, "instead, create and delete collections of this many pods")
	logFile := flag.String("log", os.DevNull, "write the server's log to this file")
	flag.Parse()
	if err := logTo(*logFile); err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if *many > 0 {
		err = collections(ctx, *many)
	} else {
		err = runAll(ctx, *names, *runs, *profile)
	}
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// runAll runs the named workloads, and prints a line for each run.
func runAll(ctx context.Context, names string, runs int, profile string) error {
	out := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(out, "workload\tpods\tseconds\tpods/s\ttrivial pods/s\tratio\tp50\tp99\twrites/pod\tCPU ms/pod\tpeak MB")
	for _, w := range workloads() {
		if !strings.Contains(","+names+",", ","+w.name+",") {
			continue
		}
		for range runs {
			r, err := run(ctx, w, profile)
			if err != nil {
				return fmt.Errorf("workload %s: %w", w.name, err)
			}
			fmt.Fprintf(
				out,
				"%s: %s\t%d\t%.1f\t%.0f\t%.0f\t%.2f\t%s\t%s\t%.2f\t%.2f\t%d\n",
				w.name,
				w.title,
				r.pods,
				r.duration.Seconds(),
				r.rate(),
				r.trivial.rate(),
				r.rate()/r.trivial.rate(),
				r.percentile(50).Round(time.Millisecond),
				r.percentile(99).Round(time.Millisecond),
				r.writes,
				r.cpu.Seconds()*1000/float64(r.pods),
				r.peakMB,
			)
			out.Flush()
		}
	}
	return nil
}

func logTo(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	app.LogTo(f)
	return nil
}

// result is the result of one run of a workload.
type result struct {
	outcome
	trivial outcome
	writes  float64       // API writes per pod, of all components together
	cpu     time.Duration // CPU time of the process, the clients of the benchmark included
	peakMB  uint64
}

// start starts a new server with a fleet whose nodes are idle, and returns a client of a user.
func start(ctx context.Context, f fleet.Fleet) (instance *app.Instance, user *client.Set, stop func(), err error) {
	dir, err := os.MkdirTemp("", "allot-bench-")
	if err != nil {
		return nil, nil, nil, err
	}
	if instance, err = app.Start(ctx, app.Options{DataDir: dir, Fleet: f, IdleNodes: true}); err != nil {
		return nil, nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	stop = func() {
		if err := errors.Join(instance.Stop(context.WithoutCancel(ctx)), os.RemoveAll(dir)); err != nil {
			log.Print(err)
		}
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err = instance.Server.WriteKubeconfig(kubeconfig); err == nil {
		user, err = userClient(kubeconfig)
	}
	if err != nil {
		stop()
	}
	return instance, user, stop, err
}

// run starts a new server, measures the trivial client on it, then the workload.
func run(ctx context.Context, w workload, profile string) (result, error) {
	instance, user, stop, err := start(ctx, w.fleet)
	if err != nil {
		return result{}, err
	}
	defer stop()
	if err := waitForFleet(ctx, instance.Client, w); err != nil {
		return result{}, err
	}
	r := result{}
	if r.trivial, err = trivial(ctx, user, len(w.pods)); err != nil {
		return r, fmt.Errorf("trivial client: %w", err)
	}
	if err := removePods(ctx, user); err != nil {
		return r, err
	}
	if err := prepare(ctx, user, w); err != nil {
		return r, err
	}
	peak := watchMemory(ctx)
	stopProfile, err := startProfile(profile)
	if err != nil {
		return r, err
	}
	defer stopProfile()
	before, err := writes(ctx, instance)
	if err != nil {
		return r, err
	}
	begun := cpuTime()
	if r.outcome, err = measure(ctx, user, w.pods, noAction); err != nil {
		return r, err
	}
	r.cpu = cpuTime() - begun
	after, err := writes(ctx, instance)
	r.writes, r.peakMB = (after-before)/float64(len(w.pods)), peak()
	return r, err
}

// startProfile profiles the CPU until the returned function is called; without a name it does
// nothing.
func startProfile(name string) (stop func(), err error) {
	if name == "" {
		return func() {}, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { pprof.StopCPUProfile(); f.Close() }, nil
}

// waitForFleet waits until all nodes and devices are published.
func waitForFleet(ctx context.Context, set *client.Set, w workload) error {
	wantNodes, wantDevices := w.fleet.Size()
	for {
		nodes, err := set.Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		slices, err := set.ResourceSlices().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		devices := 0
		for i := range slices.Items {
			devices += len(slices.Items[i].Spec.Devices)
		}
		if len(nodes.Items) == wantNodes && devices == wantDevices {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// removePods deletes the trivial client's pods with grace period 0.
func removePods(ctx context.Context, set *client.Set) error {
	now := int64(0)
	if err := set.Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now},
		metav1.ListOptions{}); err != nil {
		return err
	}
	for {
		pods, err := set.Pods(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil || len(pods.Items) == 0 {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// prepare creates what the pods need: class, template and groups, with the groups' claims
// generated.
func prepare(ctx context.Context, set *client.Set, w workload) error {
	if _, err := set.DeviceClasses().Create(ctx, newClass(), metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := set.ResourceClaimTemplates(namespace).Create(ctx, newTemplate(), metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, group := range w.groups {
		if _, err := set.PodGroups(namespace).Create(ctx, group, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for {
		groups, err := set.PodGroups(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		ready := 0
		for i := range groups.Items {
			if len(groups.Items[i].Status.ResourceClaimStatuses) == len(groups.Items[i].Spec.ResourceClaims) {
				ready++
			}
		}
		if ready == len(w.groups) {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// watchMemory samples the memory that the Go runtime has obtained from the system. The returned
// function returns the peak in MB.
func watchMemory(ctx context.Context) func() uint64 {
	ctx, cancel := context.WithCancel(ctx)
	peak := make(chan uint64)
	go func() {
		var most uint64
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.Sys-m.HeapReleased)
			select {
			case <-ctx.Done():
				peak <- most >> 20
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { cancel(); return <-peak }
}
