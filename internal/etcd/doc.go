// Package etcd runs one etcd member inside the process.
//
// It decides where the member keeps its files and its socket, and how it is
// started and closed. The member listens on a unix socket only: it never opens
// a TCP port, and the socket's directory is readable by its owner alone. One
// process at a time may use a data directory; a second one gets [ErrInUse].
//
// It starts no member on damaged files. A member that was closed leaves a checksum of
// each of its files (the seal), so that any change is found; after a kill, the structure
// of the database and the records of the log are looked through. What a member does when
// it gives up, on whichever goroutine, is an error of [Start] or [Server.Err].
//
// Invariants:
//   - No damage makes the process panic or hang.
//   - There is no seal while a member may change its files.
//   - The directory stays locked as long as anything of a member may write to it.
//
// [Server.Client] talks to the member by function calls, without a socket and
// without gRPC; [Server.Endpoint] is for tools and for other processes.
package etcd
