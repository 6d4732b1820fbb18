// Package printers lays out the tables that kubectl get shows: for each kind the
// columns and cells of Kubernetes 1.37, and in the wide form what a person who
// shares devices asks next: which devices and nodes a claim has, who holds it, and
// which claims a group uses.
//
// A printer reads one object and the time, nothing else, so a listing costs no
// further reads. Which kind has which printer is in the descriptor of the kind.
package printers
