// Package printers has the tables that kubectl get shows: for each kind the columns and cells of
// Kubernetes 1.37, and additional wide columns about devices: the devices and nodes of a claim, its
// consumers, and the claims of a group.
//
// A printer uses only one object and the time, so that a list needs no further reads. The
// descriptor of a kind has its printer.
package printers
