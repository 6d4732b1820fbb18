// Command facts writes the table of what upstream says about its API types in comment markers alone, and reflection
// therefore cannot see: list types and keys, map types, defaults, enum values, unions, and whether a field is required
// where its JSON tag says otherwise. Names, types and tags are left out, and so is every sentence.
//
// Usage (from a go:generate line): facts -out facts.txt k8s.io/api/core/v1 ...
package main

import (
	"flag"
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	out := flag.String("out", "facts.txt", "file to write")
	flag.Parse()
	table, err := collect(flag.Args())
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(*out, table, 0o644); err != nil { //nolint:gosec // a source file, read by all
		log.Fatal(err)
	}
}
