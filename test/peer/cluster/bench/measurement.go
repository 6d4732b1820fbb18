package main

import (
	"slices"
	"time"
)

// measurement is the result of one workload on one side.
type measurement struct {
	pods, bound int
	duration    time.Duration // first create → last pod on a node
	p50, p99    time.Duration // create → on a node
	cpu         time.Duration // a pod
	writes      float64       // a pod
	peak        int64         // bytes
	// own is the part of the machine's CPU time that the control plane and this command had until
	// the last pod was bound.
	own float64
}

// newMeasurement computes a result from the times of creates and binds by pod, and from what was read
// before the first create, after the last bind, and when the control plane was quiet again.
func newMeasurement(created, bound map[string]time.Time, before, atLast, after reading) measurement {
	var first, last time.Time
	var delays []time.Duration
	for name, began := range created {
		if first.IsZero() || began.Before(first) {
			first = began
		}
		if at, ok := bound[name]; ok {
			delays = append(delays, at.Sub(began))
			if at.After(last) {
				last = at
			}
		}
	}
	m := measurement{pods: len(created), bound: len(delays), peak: after.peak}
	used := atLast.cpu - before.cpu + atLast.own - before.own
	m.own = used.Seconds() / (atLast.machine - before.machine).Seconds()
	if m.bound == 0 {
		return m
	}
	slices.Sort(delays)
	m.duration = last.Sub(first)
	m.p50, m.p99 = delays[len(delays)/2], delays[len(delays)*99/100]
	m.cpu = (after.cpu - before.cpu) / time.Duration(m.bound)
	m.writes = (after.writes - before.writes) / float64(m.bound)
	return m
}

func (m *measurement) rate() float64 { return float64(m.bound) / m.duration.Seconds() }
