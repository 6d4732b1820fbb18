// Package ownership decides which objects a controller such as a ReplicaSet claims (Sort): objects
// with its controller reference that match its selector, and orphans that match. It makes the
// patches that adopt and release them.
//
// Claimer reads candidates from a cache and writes the patches. Watch maps events of objects to the
// names of the controllers that they concern.
//
// Invariants: an object is in at most one part of a Claim; objects of other controllers are never
// changed; a controller that is being deleted neither adopts nor releases, and is read from the API
// before anything is adopted; a patch has the UID of its object, so that it never changes a
// recreated one.
package ownership
