// Package line is the syntax of scenario files: one syntax for the core, the claims, the groups and
// the controllers.
//
// A file consists of directives of github.com/cockroachdb/datadriven: a command, its input lines,
// "----", and the output, which `go test -rewrite` writes. A comment starts with "#". The command
// and each input line of "objects" have this syntax:
//
//		VERB [NAME…] [KEY=VALUE…]
//
//	  - A word without "=" is a name, or a flag that the verb knows.
//	  - 'Quoted parts' may contain blanks: with='quota exceeded'.
//	  - A key can be repeated, and a value can be a list: not=a,b.
//	  - A range makes several lines of one: pod m-{0..3} makes four pods.
//
// Each verb has one handler. An argument that its handler does not read is an error.
package line
