// Package inmemory allows an HTTP client to call a handler in the same process.
//
// There is no socket, TLS or HTTP encoding in between. The response is passed to the client when
// the handler returns or, for streams, at its first flush. Cancelling the request or closing the
// response body ends the handler's context, like a closed connection.
//
// A watch can pass its events as objects: see [Receiver].
package inmemory
