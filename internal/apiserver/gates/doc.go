// Package gates decides what the API looks like while a feature is off: which kinds are not served, which fields new
// objects lose, and which are refused.
//
// An object that has a field already keeps it: a field is dropped or refused only if the stored object does not use it.
// Whether it does is found out by dropping it from a copy, so that there is one list of fields a feature.
//
// Fields are dropped where Kubernetes drops them. What K5978 and K5729 add to pods and PodGroups is refused, since these
// KEPs say so: the object would mean something else without it.
//
// The package is pure. With all features on it does nothing.
package gates
