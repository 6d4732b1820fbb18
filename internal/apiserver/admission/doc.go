// Package admission has the checks and changes that a request goes through before
// the rules of its kind: the life of its namespace, priorities, and what a new
// PodGroup takes over from its Workload.
//
// Each rule is a small function on one object. It may read other objects through
// [Reader], and never writes any. Reads come from the watch cache; a rule that
// refuses because something is missing has looked in the storage itself.
package admission
