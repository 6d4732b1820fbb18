// Package servertest runs the controller of cluster-wide templates against a real API server, with
// the service account of its manifest. It contains only tests, of what scenarios cannot show:
// whether the server accepts the writes, how many requests there are, and how long it takes.
package servertest
