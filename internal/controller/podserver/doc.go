// Package podserver writes pods to the server in the ways that all controllers need which make pods from a template.
//
// It decides nothing, and reads no cache.
package podserver
