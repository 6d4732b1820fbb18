// Package groups decides about PodGroups: whether enough pods exist for a gang to
// be tried (Count), whether the deletion protection has to go on or off (Protect),
// and what the conditions say (Assess, Conditions, Disruption).
//
// It takes API objects and gives values. It never reads or writes the API, looks at
// no clock (times are passed in) and changes none of its arguments.
//
// Invariants:
//   - PodGroupInitiallyScheduled never goes back from True; PodGroupScheduled follows
//     the group's life (R33).
//   - The same facts give the same conditions, to the letter; a condition's time
//     changes only with its status.
//   - The protection goes only when the PodGroup is being deleted and no pod that
//     names it can still run (R35); foreign finalizers are never touched.
package groups
