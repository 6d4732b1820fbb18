// Package groups decides about PodGroups: whether a gang has enough pods to be scheduled (Count),
// whether the protection finalizer must be added or removed (Protect), and which conditions are set
// (Evaluate, Conditions, Disruption).
//
// The package takes API objects and returns values. It does not access the API or a clock (times
// are parameters), and does not modify its arguments.
//
// Invariants:
//   - PodGroupInitiallyScheduled never changes back from True; PodGroupScheduled follows the
//     current state (R33).
//   - Equal input gives equal conditions, including messages; the transition time of a condition
//     changes only with its status.
//   - The finalizer is removed only when the PodGroup is being deleted and no pod that names it can
//     still run (R35). Other finalizers are never changed.
package groups
