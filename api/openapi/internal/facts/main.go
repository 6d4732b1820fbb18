// Command facts writes a table of what upstream's API types have only in comment markers, which
// reflection cannot see: list types and keys, map types, defaults, enum values, unions, and whether
// a field is required contrary to its JSON tag. Names, types and tags are not included, and no
// sentences are.
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
	if err := os.WriteFile(*out, table, 0o644); err != nil {
		log.Fatal(err)
	}
}
