// Package admission has the checks and changes that are made to a request before the rules of its
// kind: the lifecycle of its namespace, priorities, and the policy that a new PodGroup copies from
// its Workload.
//
// Each rule is a small function on one object. It may read other objects through [Reader], and
// never writes any. Reads use the watch cache; a rule that rejects a request because an object is
// missing has read from the storage itself.
package admission
