// Package testserver starts one API server for all tests of a package. Its data directory is
// deleted after the tests.
//
// The package's tests start the other parts and create the objects that they need.
package testserver
