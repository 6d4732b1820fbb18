// Package objects is how controllers read and write the objects of a kind: one small interface for
// each request, of which a controller's own interfaces are composed, and Server, which implements
// all of them with a client.
package objects
