// Package scenario runs small text files against the pure core: objects, commands and what they print.
//
// A file consists of directives of github.com/cockroachdb/datadriven: a command, its input lines, "----", and the
// output, which `go test -rewrite` writes. An input line is a verb and its arguments; {0..3} in it makes four lines:
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
// Verbs of objects make API objects and put them into the State as an informer would, conversion included. The
// commands are: objects, place (try one unit, keep nothing), run (try what waits, in queue order, until nothing is
// left to try; plans are assumed and then shown by the API), preempt (make room for a unit), features (what is off from then on), state. After each command the State is audited, and no
// device may have two holders and no node less than nothing free.
//
// One handler a verb: see the tables in scenario.go.
package scenario
