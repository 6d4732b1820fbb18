// Package judge compares the hand-written parts of allot's API server with Kubernetes 1.37.2, in
// one process: validation, defaulting, conversion, fields that strategies drop and keep, and
// tables.
//
// A [Server] has the codecs, strategies and printers of one side. Both servers get the same
// [Request]: a creation, an update or a status update, as JSON. Their responses are compared:
// whether the request is accepted; if not, the HTTP code, and the type and field of every cause; if
// so, the object as JSON in each version, and its row in a table. Texts for people (messages of
// causes, descriptions of columns) are not compared.
//
// Requests are the manifests of internal/apiserver/validation/testdata, and mutations of them that
// depend only on a seed. In addition, each field of the Go type of a kind is set once, in a new
// object and in a change of one. Intended differences are in one table, [Intended]; an entry that
// explains no request is an error.
package judge
