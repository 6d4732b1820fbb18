// Package nodefit decides whether a node fits a pod, by the checks of kube-scheduler's filters.
//
// A Fitter has what pods of one shape require. Static checks depend on the node and the shape alone
// and are made once for each shape; Dynamic checks depend on the pods that run, and are made with
// each placement. Volumes and resources drawn through claims depend on more than the shape and have
// functions of their own.
//
// Invariants: a check that fails names itself and what it failed at (Failure); checks are made in
// the order of the constants, and the first that fails counts. Nothing here changes the State.
//
// It does not decide which of the nodes that fit is best, which devices claims get, or what a
// message says.
package nodefit
