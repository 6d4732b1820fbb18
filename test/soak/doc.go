// Command soak works on the product for some minutes, ends its parts at random, and checks what
// must be true meanwhile and afterwards (R50, P27):
//
//   - no device is allocated to two claims, in any list of the claims;
//   - each workload that fits comes to run whole, whatever is killed meanwhile;
//   - after all workloads are deleted, nothing is left: no pod, claim, PodGroup or dependent;
//   - no process panics, reports a data race, or ends other than by a kill or a lost lease;
//   - each watch that was not cut off shows the last change.
//
// The parts run apart (two controller managers and two schedulers with short leases), or, with -up,
// in one process. With -race they are built with the race detector. -watches opens many watches, a
// tenth of which read slowly; -memory limits each process by GOMEMLIMIT. The choice of workloads and
// kills follows -seed; -rounds and -time bound it. At the end it prints what was done, and the resident
// memory of each part over time.
//
// It is not part of .ci/run: it takes minutes, and its load depends on the machine.
package main
