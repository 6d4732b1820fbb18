// Package metrics defines the Prometheus metrics of allot (R44, R49). A metric that
// Kubernetes has as well has its name, labels and buckets there; the others begin with allot_. Times
// are in seconds. docs/metrics.md lists all of them.
//
// A Registry belongs to one process, or to one control plane in a process with several. Its parts
// are passed to the components, which declare the methods they need as interfaces; only the
// composition root knows the Registry. /metrics serves it together with the process-wide metrics of
// client-go and the API server.
//
// No decision may depend on a metric.
package metrics
