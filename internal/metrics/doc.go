// Package metrics holds what allot's parts count (R44, R49), in the terms of Prometheus: names begin with allot_, times are
// in seconds.
//
// A Registry belongs to one process, or to one control plane of several in a process. Its parts are handed to those who
// count, which declare what they need as interfaces; nobody but the composition root knows the Registry. /metrics shows it
// together with what client-go and the API server count for the whole process.
//
// The package decides nothing, and nothing may be decided by what it holds.
package metrics
