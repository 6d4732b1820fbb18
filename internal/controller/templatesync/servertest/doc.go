// Package servertest runs the controller of cluster-wide templates against a real API server, as the service account that its
// manifest makes. It has tests only: what the scenarios leave open is whether the server takes the writes as they are meant,
// what is requested, and how long it takes.
package servertest
