// Package commit writes a plan of the scheduler to the API, in an order that a crash
// at any point does not harm.
//
//  1. Claims, all at once: those in the place of extended resources are made, others get
//     the delete-protection finalizer where it is missing; then
//     allocation and reservation in one status write. A group's reservation is written
//     here, once, so no bind can be refused by the group's own earlier write.
//  2. Binds, all at once, only when every claim has been written, each after what the pod's
//     status has to say of its claims. Whoever has to wait in between, until devices are
//     ready, calls Claims and Binds one after the other.
//
// What was decided on is verified against the API ("decide optimistically,
// verify at commit"): a claim that somebody else has allocated, changed or deleted refuses
// the plan, and what the plan itself has added before is taken back, as long as no bind was tried.
// A conflict that does not contradict the plan is written again over the newer object. An answer
// that got lost does no harm: what the API shows then is recognized as the plan's own, and a write
// that stays without an answer is looked up until there is one, so that nobody acts on a guess.
// The cache is good enough to write over, never to conclude from it that nothing needs to be written.
//
// GiveBack takes reservations off claims whose holders make no use of them, and the devices with the last one; claims that a
// plan has made go altogether.
//
// The package makes no decision of its own about placement, and keeps no state between plans.
// A gang of which some binds were written, when the process ended, is found and finished by
// the scheduler that comes next (docs/adr/0001).
package commit
