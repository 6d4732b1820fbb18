// Package replica has what all controllers that own pods mean by the same words: the pod that a template describes (New),
// which pods count (Active), and when a pod is ready and available.
//
// All of it is functions of values; how many pods there should be is each controller's decision.
package replica
