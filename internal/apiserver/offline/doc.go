// Package offline completes and validates objects as the API server does when they are created or
// changed, without a server: defaults, admission, the preparation of the kind, and validation. What
// admission reads is in a snapshot.World.
//
// It does no I/O and stores nothing.
package offline
