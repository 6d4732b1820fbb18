// Package serviceslices has what controllers that write the EndpointSlices of Services have in
// common: which slices of a Service are a controller's own, and which changes others have made to
// them. It writes nothing.
package serviceslices
