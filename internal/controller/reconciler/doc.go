// Package reconciler runs the loop that every controller has: a queue of keys without duplicates,
// several workers, and retries with growing delay after an error.
//
// Invariants: one key is never reconciled by two workers concurrently; a key that is added while it
// is being reconciled is reconciled once more afterwards; an error delays only its own key; nothing
// is reconciled before Options.Ready has returned.
//
// The package decides nothing about objects, never reads or writes them, and never drops a key
// because it failed too often.
package reconciler
