// Package devicetaint evicts the pods that use a device with a NoExecute taint that they do not tolerate (R25, R41): it
// deletes them, once, when the time that their tolerations leave is over.
//
// # What it decides
//
// The taints of a device are those that the newest generation of its pool publishes, and those of the DeviceTaintRules
// that select it, published or not. A claim's tolerations are those of its allocation. A pod is meant by a claim that it
// names (spec or status), if the claim is reserved for the pod, for the pod's PodGroup (KEP-5729), or for a consumer that
// is neither: then all pods that name the claim use it (KEP-5194). Pods are found through indexes, never by a scan.
//
// One key is one pod, so that what counts is always the present state: what no longer evicts needs no bookkeeping to
// be called off. Deletions of a process are limited to Options.PerSecond.
//
// # Invariants
//
//   - A pod is deleted only under its UID, and only once.
//   - A pod that was scheduled when its toleration was over already lives for Options.MinLife, and hears why: else a
//     controller that replaces it would do so without end, at full speed (F60).
//   - The status of a rule is written at most once in Options.StatusPeriod, and only if it says something else.
//
// # What it never does
//
// It frees no devices: that follows from the pods' end.
package devicetaint
