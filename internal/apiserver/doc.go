// Package apiserver runs a Kubernetes-compatible API server with its own etcd.
//
// It assembles the server: storage, certificates, authentication, the groups that are served, and
// the order in which all of it starts and stops. Package registry has the table of kinds and their
// rules; the packages defaults, validation and printers have what their names say.
//
// Invariants: the server listens on one address, by default of the loopback interface; requests
// without a valid certificate or token get 401, except health checks; [Start] returns when /readyz
// returns ok; after [Server.Stop] the data directory is not in use. The package has no knowledge of
// the scheduler and the controllers.
package apiserver
