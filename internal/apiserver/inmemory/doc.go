// Package inmemory lets an HTTP client call a handler of the same process.
//
// There is no socket, no TLS and no HTTP encoding in between. A response is
// handed over when the handler returns or, for streams, at its first flush.
// Cancelling the request or closing the response's body ends the handler's
// context, as a broken connection would.
package inmemory
