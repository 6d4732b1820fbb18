// Package endpoints keeps the EndpointSlices and Endpoints of Services that have a selector.
//
// The slices are decided and written by the reconciler of k8s.io/endpointslice. Subsets decides the
// Endpoints, which older clients read. Both have the pods that the selector selects and that have
// an address; a pod that is not ready is in both as such. A Service without a selector is left to
// its user.
//
// EndpointSlices belong to their Service, and the garbage collector deletes them. Endpoints have no
// owner, as in Kubernetes: the controller deletes them, and looks for left ones when it starts.
// Endpoints that a user changes are corrected with the next change of the Service or its pods.
package endpoints
