// Command soak runs workloads on the product for some minutes, kills its components at random, and
// checks these invariants (R50, P27):
//
//   - No device is allocated to two claims, in any list of the claims.
//   - Each workload that fits eventually runs completely, whatever is killed meanwhile.
//   - After all workloads are deleted, no pod, claim, PodGroup or dependent is left.
//   - No process panics, reports a data race, or ends other than by a kill or a lost lease.
//   - Each watch that was not closed shows the last change.
//
// The components are separate processes (two controller managers and two schedulers with short
// leases), or, with -up, one process. With -race they are built with the race detector. -watches
// opens many watches, a tenth of which read slowly; -memory limits each process by GOMEMLIMIT. The
// choice of workloads and kills depends on -seed; -rounds and -time limit the run. At the end it
// prints a summary, and the resident memory of each process over time.
//
// It is not part of .ci/run: it takes minutes, and its load depends on the machine.
package main
