// Package rbac authorizes requests by roles and bindings.
//
// [Policy] holds the content of the four kinds of rbac.authorization.k8s.io, indexed by subject: a
// request is looked up under its user and groups, and only the rules of their roles are read.
// Nothing is precomputed, so that a changed object changes only its own entries. Decisions are
// pure; [Controller] does the I/O: it fills the Policy from the server's own watches, creates the
// roles that every server has ([Ensure]), and collects the rules of aggregated roles
// ([Aggregated]).
//
// Invariants: rules only allow; a binding to a role that does not exist allows nothing; a Role
// applies only in its own namespace, and so does a ClusterRole through a RoleBinding. Several
// servers on one storage run the same Controller, and all of them write the same.
//
// The package never denies a request, which would bypass other authorizers. It does not know
// system:masters: the server allows that group before it asks this package.
package rbac
