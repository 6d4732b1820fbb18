// Package app puts the parts together. It is the only package that imports all of them.
//
// Main reads the command line. Start runs the API server, the controllers, the scheduler and the
// simulated nodes in one process; up adds the terminal output. The package decides only what runs,
// in which order, and how it ends.
package app
