// Package replica defines what all controllers of pods have in common: the pod of a template (New),
// which pods count (Active), and when a pod is ready and available.
//
// All functions are pure. The number of pods is decided by each controller.
package replica
