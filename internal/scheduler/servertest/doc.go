// Package servertest runs schedulers on a real API server in the process, where writes race.
package servertest
