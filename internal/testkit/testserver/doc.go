// Package testserver starts one API server for all tests of a package, with its store in a directory that goes away
// with them.
//
// What runs beside the server, and what the tests make in it, is theirs.
package testserver
