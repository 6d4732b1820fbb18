// Package noderights limits nodes to the requests that they need for their own objects (P15).
//
// # What it decides
//
// A node is a user in the group system:nodes with the name system:node:NAME. [Authorizer] allows a
// node to read its Node, its pods and the objects to which they refer, and to write its own Node,
// Lease, CSINode and ResourceSlices and the status of its pods. For kinds that are not divided by
// node, the rules of the role system:node apply. [Authorizer.Restrict] rejects requests that can
// only be judged by the object: a Node, Lease or slice of another node, labels and taints that
// would attract pods to the node, a pod of another node, a token for a pod that does not run on the
// node. The rules are those of Kubernetes' node authorizer and of its admission plugin
// NodeRestriction.
//
// # Invariants
//
//   - The Authorizer never denies a request: roles and bindings may allow more. Restrict rejects a
//     request regardless of what allowed it.
//   - The objects that a node may read follow from the pods bound to it, which are found through an
//     index.
//
// # What it never does
//
// It does not restrict a simulated fleet, which is one user for all of its nodes,
// allot:simulated-fleet.
package noderights
