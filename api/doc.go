// Package api has the types that allot serves in one scheme: upstream's types if nothing is added,
// and the delta types in the directories below if the KEPs add a field (R1 to R8).
//
// The directories are named by group and version. core, apps, resource and scheduling/v1beta1
// replace upstream kinds with the same group, version and kind; scheduling/v1alpha2 and
// resource/v1alpha3 have kinds that Kubernetes 1.37 does not serve, scheduling/v1alpha1 what 1.35
// has stored. The external types are also registered as internal types, so that most kinds need no
// conversion.
package api
