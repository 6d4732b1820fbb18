// Package devicetaint evicts pods that use a device with a NoExecute taint that they do not
// tolerate (R25, R41). It deletes a pod, once, when the time granted by its tolerations is over.
//
// # What it decides
//
// The taints of a device are those in the newest generation of its pool, and those of
// DeviceTaintRules that select it, published or not. The tolerations of a claim are those in its
// allocation. A pod is affected by a claim that it names (in spec or status) if the claim is
// reserved for the pod, for its PodGroup (KEP-5729), or for a consumer of another kind: then all
// pods that name the claim use it (KEP-5194). Pods are found through indexes, never by a scan.
//
// A key is a pod, so that each decision is based on the current state and nothing has to be
// canceled. Options.PerSecond limits the deletions of a process.
//
// # Invariants
//   - A pod is deleted with a UID precondition, and only once.
//   - A pod that was scheduled after its toleration had expired lives for Options.MinLife, and gets
//     an event. Otherwise, a controller that replaces it would do so endlessly at full speed (F60).
//   - The status of a rule is written at most once per Options.StatusPeriod, and only if it
//     changes.
//
// The package does not deallocate devices: that follows from the end of the pods.
package devicetaint
