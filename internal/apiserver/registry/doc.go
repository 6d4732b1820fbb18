// Package registry has the one table of all kinds that the API server stores.
//
// A simple kind is a descriptor of a few lines: its names, its list type, where its
// spec and its status are, its defaults, validation and printer, the features that
// it needs, and what the roles view, edit and admin allow on it. A kind with rules
// of its own has a file of its own here. Everything that all kinds have in common (what a
// create and an update keep and clear, generations, the status subresource, field
// selectors, managed fields that reset) is decided once, in [kind] and [strategy].
//
// The package never talks to the network; the storage is given to it. What it
// decides about an object depends on that object, its stored form and, for a few
// rules, on other objects of the same store.
package registry
