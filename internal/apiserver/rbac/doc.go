// Package rbac decides who may do what, by roles and bindings.
//
// [Policy] is what the four kinds of rbac.authorization.k8s.io say, indexed by subject: a request is looked up under its
// user and its groups, and only the rules of their roles are read. Nothing is computed ahead, so that a change of an
// object changes its own entries and no more. Deciding is pure; [Controller] does the I/O around it: it fills the Policy
// from the server's own watches, makes the roles that every server has ([Ensure]), and gathers the rules of roles that
// aggregate others ([Aggregated]).
//
// Invariants: rules only allow; a binding to a role that does not exist allows nothing; a Role counts in its own
// namespace only, and so does a ClusterRole through a RoleBinding. Several servers on one storage run the same
// Controller: what one has written is what the other would write.
//
// It never denies, which would stop other authorizers, and it does not know of system:masters: the server lets them pass
// before it asks here.
package rbac
