// Package podserver writes pods to the server in the ways that controllers of pods need.
//
// It decides nothing, and reads no cache.
package podserver
