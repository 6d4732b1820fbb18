package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTableIsCurrent fails if facts.txt is not what its go:generate line produces.
func TestTableIsCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("loads the packages of k8s.io/api")
	}
	doc, err := os.ReadFile("../../doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, args, ok := strings.Cut(string(doc), "-out facts.txt ")
	if !ok {
		t.Fatal("doc.go has no go:generate line")
	}
	got, err := collect(strings.Fields(args))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../facts.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("facts.txt is not what go generate writes (-file +now):\n%s", diff)
	}
}
