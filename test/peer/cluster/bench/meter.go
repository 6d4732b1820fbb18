package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/kubernetes"

	"github.com/allot-dev/allot/test/peer/cluster"
)

// meter reads the counters of a control plane.
type meter struct {
	processes []*cluster.Process
	client    kubernetes.Interface
}

// reading is what the counters show at one time.
type reading struct {
	cpu     time.Duration // of the control plane
	own     time.Duration // of this command
	machine time.Duration // of everything on the machine
	writes  float64
	peak    int64 // bytes
}

// begin returns the first reading, and lets the peak of the memory begin again.
func (m *meter) begin(ctx context.Context) (reading, error) {
	for _, p := range m.processes {
		if err := p.ResetPeak(); err != nil {
			return reading{}, err
		}
	}
	return m.read(ctx)
}

func (m *meter) read(ctx context.Context) (r reading, err error) {
	var errs [3]error
	r.writes, errs[0] = m.writes(ctx)
	r.cpu, errs[1] = m.cpu()
	r.machine, errs[2] = machineCPU()
	r.own = ownCPU()
	for _, p := range m.processes {
		r.peak += p.MostMemory()
	}
	return r, errors.Join(errs[:]...)
}

// cpu returns the CPU time that the control plane has used.
func (m *meter) cpu() (total time.Duration, err error) {
	for _, p := range m.processes {
		used, err := p.CPU()
		if err != nil {
			return 0, err
		}
		total += used
	}
	return total, nil
}

// writes returns the number of successful requests that changed something. Leases are renewed by the
// clock, and reviews are not stored.
func (m *meter) writes(ctx context.Context) (float64, error) {
	text, err := m.client.Discovery().RESTClient().Get().AbsPath("/metrics").
		SetHeader("Accept", "text/plain").DoRaw(ctx)
	if err != nil {
		return 0, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return 0, fmt.Errorf("metrics of the API server: %w", err)
	}
	total := 0.0
	for _, metric := range families["apiserver_request_total"].GetMetric() {
		labels := map[string]string{}
		for _, pair := range metric.GetLabel() {
			labels[pair.GetName()] = pair.GetValue()
		}
		if isWrite(labels) {
			total += metric.GetCounter().GetValue()
		}
	}
	return total, nil
}

func isWrite(labels map[string]string) bool {
	switch labels["verb"] {
	case "POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION":
		return labels["resource"] != "leases" && !strings.HasSuffix(labels["resource"], "reviews") &&
			strings.HasPrefix(labels["code"], "2")
	}
	return false
}

// machineCPU returns the CPU time that the machine has used since it was started.
func machineCPU() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var ticks int64
	for i, field := range strings.Fields(line) {
		const idle, iowait, steal = 4, 5, 8 // positions; what follows steal is counted in the first two
		if i == 0 || i == idle || i == iowait || i > steal {
			continue
		}
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * cluster.ClockTick, nil
}

// ownCPU returns the CPU time that this command has used.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
