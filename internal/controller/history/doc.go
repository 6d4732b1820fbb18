// Package history keeps the templates that a workload's pods had, one ControllerRevision each, so that pods can be told
// apart by them and kubectl rollout can list them and go back.
//
// Choose decides which revision is that of the current template, and whether it has to be made or to become the newest;
// Ensure writes what Choose says. Trim deletes what the history limit lets go.
//
// Invariants: a template that is equal to an earlier one, as values and not as bytes, has that one's revision; the revision
// of the current template has the highest number; the name of a new revision follows from its template, so that a cache
// that lags behind never makes two. What a revision holds is a patch in the form that kubectl applies. The package never
// reads or writes pods.
package history
