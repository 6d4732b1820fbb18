// Package ttl deletes Jobs, with all that they own, when the time that they are kept after their end has passed.
//
// Decided here is when that is (Expiry). The controller asks the server, not the cache, before it deletes: the time may have
// been changed. A Job is deleted once; what the garbage collector does then is not watched.
package ttl
