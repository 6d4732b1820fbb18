// Package features has the switches of allot: which parts of the API and of its behaviour are on.
//
// A [Set] is a value that is passed in; there is no global one. Its zero value has everything on, since that is what
// allot is for. A feature that builds upon another one is off with it.
//
// The package decides nothing beside that: what a feature does when it is off is decided where the feature is.
package features
