// Package defaults sets empty fields to the values that Kubernetes 1.37 uses, for every kind that
// allot serves.
//
// The descriptor of a kind (internal/apiserver/registry) has its function, which is registered in
// the scheme and runs whenever an object is decoded in a served version, from a client or from
// storage. The functions only set empty fields, so that they are idempotent. Values that depend on
// the request, a clock or another object (a namespace's own label, the name of a service account,
// the policy that a PodGroup copies from its Workload) are set by strategies and admission, not
// here.
package defaults
