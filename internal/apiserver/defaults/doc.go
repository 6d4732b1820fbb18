// Package defaults fills in what a manifest leaves out, with the values that
// Kubernetes 1.37 gives, for every kind that allot serves.
//
// The descriptor of a kind (internal/apiserver/registry) names its function, which is
// registered on the scheme and so runs whenever an object is
// decoded in a served version, from a client or from storage. They only ever set
// fields that are empty, so running them twice is running them once. What needs
// the request, the clock's progress or another object (a namespace's own label, a
// service account's name, a PodGroup's policy taken from its Workload) belongs to
// the strategies and to admission, not here.
package defaults
