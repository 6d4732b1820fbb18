// Package etcd runs one etcd member inside the process.
//
// It decides where the member keeps its files and its socket, and how it is
// started and closed. The member listens on a unix socket only: it never opens
// a TCP port, and the socket's directory is readable by its owner alone. One
// process at a time may use a data directory; a second one gets [ErrInUse].
//
// [Server.Client] talks to the member by function calls, without a socket and
// without gRPC; [Server.Endpoint] is for tools and for other processes.
package etcd
