// Package scenario runs text files against the pure core: objects, commands and their output.
//
// The syntax is that of internal/testkit/line:
//
//	objects
//	node n1 cpu=8 pods=110 label=zone=a taint=key=value:NoSchedule
//	class gpu.example.com selector='device.driver == "gpu.example.com"'
//	slice n1-gpu driver=gpu.example.com node=n1 devices=2
//	template one-gpu request=g:gpu.example.com
//	group pg gang=2 claim=shared:one-gpu
//	pod m-{0..1} group=pg cpu=1 shared=shared own=scratch:one-gpu
//	----
//
//	place pg
//	----
//	whole plan
//	…
//
// The verbs create API objects and put them into the State as an informer would, conversion
// included. The commands are:
//
//   - objects: run the input lines.
//   - place: place one unit, and undo it.
//   - run: place the units in the queue, in order, until none is left to try. Plans are assumed,
//     and then shown by the API.
//   - preempt: search for victims for a unit.
//   - features: the features that are off from then on.
//   - repeat, steps, state: see the handlers.
//
// After each command the State is audited, no device may have two holders, and no node may be
// overcommitted.
//
// Each verb has one handler: see the tables in scenario.go.
package scenario
