// Package kinds lists what kinds of objects a server has, custom resources included,
// for controllers that work on all of them: garbage collection and the deletion of
// namespaces. It reads discovery, never objects. And it knows the answer for a kind that the server does not have (Unserved).
package kinds
