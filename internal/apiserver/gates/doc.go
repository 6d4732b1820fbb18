// Package gates decides what objects look like while a feature is off: which fields new objects
// lose, and which are refused. Which kinds are not served is in their descriptors
// (internal/apiserver/registry).
//
// An object that has a field already keeps it: a field is dropped or refused only if the stored
// object does not use it. Whether it does is found out by dropping it from a copy, so that there is
// one list of fields a feature.
//
// Fields are dropped where Kubernetes drops them. What K5978 and K5729 add to pods and PodGroups is
// refused, since these KEPs say so: the object would mean something else without it.
//
// The package is pure. With all features on it does nothing.
package gates
