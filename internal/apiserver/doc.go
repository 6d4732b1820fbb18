// Package apiserver runs a Kubernetes-compatible API server with its own etcd.
//
// It decides how the server is put together: storage, certificates, who is let
// in, which groups are served, and in which order all of it starts and stops.
// What a kind means is decided elsewhere: package registry has one table of
// kinds and the rules of those that have any, and the packages defaults,
// validation and printers have what their names say.
//
// Invariants: it listens on one address only, by default of the loopback
// interface; nobody without a valid certificate or token gets an answer other
// than 401; [Start] returns when /readyz is true; after [Server.Stop] the data
// directory is free. It knows nothing of the scheduler and the controllers.
package apiserver
