// Package kinds lists the kinds that a server serves, including custom resources, for controllers
// that process all of them: garbage collection and the deletion of namespaces. It reads discovery,
// not objects.
package kinds
