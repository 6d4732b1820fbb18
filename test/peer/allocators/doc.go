// Package allocators runs two allocators, that of Kubernetes
// (k8s.io/dynamic-resource-allocation/structured) and that of this project, on the same input, and
// compares results and cost.
//
// A World is a set of API objects, as users and drivers write them: each side reads them in its own
// way. Worlds are generated (New), equal for the same seed and number, or built for measurements
// (speed.go).
//
// Agree compares results. If only one side allocates, that is a difference, and so is an allocation
// that the other side would not accept: each allocation found by allot is passed to upstream as a
// claim for exactly these devices. Intended differences are in a table (intended.go), with the
// property of a World that causes them; all others are unexplained.
//
// Measure times both in one run, alternating, so that other load on the machine affects both.
package allocators
