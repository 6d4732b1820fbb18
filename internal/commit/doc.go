// Package commit writes a plan of the scheduler to the API, in an order that is safe if the process
// crashes at any point:
//
//   - First claims, concurrently. Claims for extended resources are created; others get the
//     protection finalizer if it is missing. Then allocation and reservation are set in one status
//     update. A group's reservation is written once, here, so that the group's own write cannot
//     make a bind fail.
//   - Then binds, concurrently, only after every claim has been written, each after the
//     claim-related fields of the pod status. To wait in between, for binding conditions, call
//     Claims and Binds separately. The pods of a gang are bound by one request, all or none, if the
//     server is allot's own (docs/adr/0009).
//
// The assumptions of a plan are verified at commit: if another component allocated, changed or
// deleted a claim, the plan is refused, and its earlier writes are reverted, as long as no pod can
// be bound. A conflict that does not contradict the plan is retried over the newer version. Lost
// responses are harmless: the plan's own writes are recognized, and a write without a response is
// looked up until the API answers. The cache is sufficient for a write, but never for the
// conclusion that nothing has to be written.
//
// GiveBack removes the reservations of holders that do not use a claim, and deallocates it with the
// last one. Claims created by a plan are deleted.
//
// The package makes no placement decisions. Between plans it remembers only whether the server can
// bind a gang as a whole. On other servers, a partially bound gang is completed by the next
// scheduler after a crash (docs/adr/0001).
package commit
