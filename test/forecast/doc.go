// Package forecast checks that plans come true (R48): what is applied to an idle cluster goes where
// internal/forecast says, and gets the devices that it says.
//
// Each test makes a random cluster and random manifests from a seed, plans them on a Snapshot of
// the cluster, and then applies them while the scheduler is stopped, so that it sees all of them
// together. On half of the clusters pods run before. Where some of them are preempted, the same pods
// must run as planned; on the others also the nodes and devices must be those of the plan. The parts
// are the real ones, on a server in memory, in a bubble of testing/synctest.
package forecast
