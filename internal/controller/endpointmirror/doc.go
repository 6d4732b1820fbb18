// Package endpointmirror copies the Endpoints that users write into EndpointSlices, which newer
// clients read.
//
// Decide is the complete decision, a function of the Endpoints, their Service and the slices of
// this controller: which slices are created, changed and deleted. There is one slice for each
// family of addresses and each set of ports, with at most maxAddresses addresses.
//
// Invariants: only Endpoints of a Service without a selector are copied, because the slices of
// other Services have a controller of their own; slices of other controllers and of users are never
// changed; no pass starts before the cache shows the slices that the last one wrote. Slices belong
// to their Endpoints, and are deleted with them.
package endpointmirror
