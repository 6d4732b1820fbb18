// Package podserver writes pods to the API for the controllers of workloads, and reads those of an
// owner from it. It decides nothing, and reads no cache.
package podserver
