// Package history keeps one ControllerRevision for each pod template of a workload, so that pods
// can be distinguished by template, and kubectl rollout can list templates and roll back.
//
// Choose decides which revision belongs to the current template, and whether it must be created or
// become the newest. Ensure writes the result. Trim deletes revisions beyond the history limit.
//
// Invariants: a template that is equal to an earlier one, by value and not by bytes, uses the same
// revision. The revision of the current template has the highest number. The name of a new revision
// is derived from its template, so that a delayed cache never causes two. The data of a revision is
// a patch in the format that kubectl applies. The package does not access pods.
package history
