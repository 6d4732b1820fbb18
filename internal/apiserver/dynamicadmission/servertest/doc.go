// Package servertest runs webhooks and policies on a real API server, with webhooks that a test
// serves over HTTPS. It has tests only: what they hold is that the plugins are given what they
// need, in the order of Kubernetes, and that what users read is what Kubernetes says.
package servertest
