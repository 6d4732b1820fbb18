// Package servertest runs the controllers of claims and PodGroups against a real API
// server. It has tests only: what the scenarios of the controllers leave open is whether
// the server takes their writes as they are meant.
package servertest
