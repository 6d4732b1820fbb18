// Package etcd runs one etcd member inside the process.
//
// The package determines where the member stores its files and its socket, and how it is started
// and stopped. The member listens on a unix socket only: it never opens a TCP port, and only the
// owner can read the directory of the socket. Only one process at a time can use a data directory;
// a second one gets [ErrInUse].
//
// A member is not started on damaged files. A stopped member leaves a checksum of each of its files
// (the seal), so that any change is detected; after a kill, the structure of the database and the
// records of the log are checked. If a member fails, on any goroutine, the failure is returned by
// [Start] or [Server.Err].
//
// Invariants:
//   - Damaged files never make the process panic or hang.
//   - No seal exists while a member may change its files.
//   - The directory stays locked while anything of a member may write to it.
//
// [Server.Client] calls the member directly, without a socket or gRPC; [Server.Endpoint] is for
// tools and other processes.
package etcd
