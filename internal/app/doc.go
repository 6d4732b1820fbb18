// Package app puts the parts together: it is the only package that knows all of them.
//
// Main reads the command line; Start runs the API server, the controllers, the
// scheduler and the simulated nodes in one process, and up is what a person sees of
// it. Nothing is decided here but what runs, in which order, and how it ends.
package app
