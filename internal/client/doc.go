// Package client reads and writes allot's API with the delta types of package api.
//
// Set has one typed client a kind; Informers keeps one cache a kind, which all parts
// of a process share. Objects that come from a cache are read-only: a writer copies first.
// The package decides nothing and never retries.
package client
