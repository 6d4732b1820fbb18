// Package crash ends parts of the product at each of their writes, and looks at what becomes of it (R50).
//
// A file of testdata is a play: manifests are applied, things are changed and deleted, a device is tainted, and after each act
// everything comes to rest; the output is what is there then. Once it is played without a fault. Then it is played anew, from what
// acts marked "given" have left, for each write that the controllers make in it, each that the scheduler makes, and each that anybody
// makes: with that write the controllers end, the scheduler, all parts and the nodes, or the API server.
//
// The write is lost, or it is made and its answer is lost; caches lag by different times; new instances start, with nothing in
// memory, at once or later, or only when the play has gone on; where everybody ended, or the API server, everybody or the API server
// may end once more while they pick up. Or nobody ends, and only the answer is lost.
//
// While the API server is away, its clients hear that nobody answers; their watches are cut off, and so are all answers under way.
// It comes back with all that it has stored, and can tell what happened meanwhile, or cannot, so that clients have to list.
//
// At no time does a device have two claims or an entry two, or a bound pod a claim that is not its own. No pod is made beyond those
// that its owner wants, except in the place of one that was made without an answer. No pod is evicted but from a device that has
// been tainted, and none is told so twice. At rest there is the same as without a fault.
//
// Left out: what an API server itself has in memory, such as which writes of claims are under way (internal/apiserver/registry), as
// the same one goes on; the leases of controllers and scheduler; and crashes of the machines on which pods run.
//
// All of this runs in a bubble of testing/synctest, on a server in memory: the parts are real, their time is not. By default one
// kind of fault strikes at each write, another one at the next; -all plays all of them.
package crash
