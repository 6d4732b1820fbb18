// Package crash ends parts of the product at each of their writes, and looks at what becomes of it (R50).
//
// A file of testdata is a play: manifests are applied, things are deleted, and after each act everything comes to rest; the
// output is what is there then. Once it is played without a fault. Then it is played anew for each write that the controllers
// make in it, each that the scheduler makes, and each that anybody makes: with that write the controllers end, the scheduler,
// or all parts and the nodes. The write is lost, or it is made and its answer is lost; caches lag by different times; new
// instances start, with nothing in memory, at once or later, or only when the play has gone on; where all parts ended, they may
// end once more while they pick up. Or nobody ends, and only the answer is lost.
//
// At no time does a device have two claims or an entry two, or a bound pod a claim that is not its own. At rest there is the same
// as without a fault.
//
// All of this runs in a bubble of testing/synctest, on a server in memory: the parts are real, their time is not.
package crash
