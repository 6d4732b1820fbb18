// Package noderights limits what nodes may do to what they need for themselves (P15).
//
// # What it decides
//
// A node is a user of the group system:nodes with the name system:node:NAME. [Authorizer] allows a node to
// read its Node, its pods and what these refer to, and to write its own Node, Lease, CSINode and
// ResourceSlices and the status of its pods; of kinds that are not divided by node, what the role
// system:node says. [Authorizer.Restrict] refuses what can be told only from the object: a Node, Lease or
// slice of another node, labels and taints that would draw pods to the node, a pod of another node, a token
// for a pod that does not run on the node. The rules are those of Kubernetes' node authorizer and of its
// admission plugin NodeRestriction.
//
// # Invariants
//
//   - The Authorizer never denies: roles and bindings may allow more. Restrict refuses whatever allowed it.
//   - What a node may read follows from the pods that are bound to it, which are found through an index.
//
// # What it never does
//
// It restricts no simulated fleet: that is one user for all of its nodes, allot:simulated-fleet.
package noderights
