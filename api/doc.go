// Package api gathers the types that allot serves in one scheme: upstream's own
// types where nothing is added, and the delta types below this folder where the
// KEPs add a field (R1 to R8).
//
// The folders are named by group and version. core, apps, resource and
// scheduling/v1beta1 stand in for upstream kinds of the same group, version and
// kind; scheduling/v1alpha2 and resource/v1alpha3 hold what Kubernetes 1.37 lacks,
// scheduling/v1alpha1 what 1.35 has stored.
// The external types serve as internal types too, so most kinds need no conversion.
package api
