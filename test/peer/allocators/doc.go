// Package allocators puts one question to two allocators, that of Kubernetes (k8s.io/dynamic-resource-allocation/structured)
// and that of this project, and compares answers and cost.
//
// A World is API objects, as users and drivers write them: each side reads them in its own way. Worlds are generated (New), the
// same for the same seed and number, or built to measure (speed.go).
//
// Agree compares answers. "No" against "yes" is a difference, and so is an answer that the other side would not accept: each
// allocation that is found here is put to upstream as a claim for exactly these devices. Intended differences are a
// table (intended.go) of what must be true of a World for them to come about; anything else counts as unexplained.
//
// Measure times both in one run, in turns, so that load from elsewhere meets both.
package allocators
