package client

import (
	"reflect"
	"testing"

	"k8s.io/client-go/rest"
)

// TestKindsAreOfHubVersions creates the client and the cache of each kind, which fails if its
// description is not of a version in api.Hubs.
func TestKindsAreOfHubVersions(t *testing.T) {
	set, err := New(&rest.Config{Host: "https://allot.invalid"})
	if err != nil {
		t.Fatal(err)
	}
	clients := results[interface{ GetClient() rest.Interface }](set)
	caches := results[interface{ HasSynced() bool }](NewInformers(set))
	if clients < 25 || caches < 25 {
		t.Errorf("got %d clients and %d caches, want at least 25 of each", clients, caches)
	}
}

// results calls the methods of a value that return an R and take no arguments except for a
// namespace, and returns their number.
func results[R any](of any) int {
	called := 0
	for _, method := range reflect.ValueOf(of).Methods() {
		takes := method.Type()
		if takes.NumOut() != 1 || !takes.Out(0).Implements(reflect.TypeFor[R]()) {
			continue
		}
		var args []reflect.Value
		if takes.NumIn() == 1 {
			args = []reflect.Value{reflect.ValueOf("default")}
		}
		method.Call(args)
		called++
	}
	return called
}
