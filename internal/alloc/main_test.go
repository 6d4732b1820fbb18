package alloc_test

import (
	"flag"
	"os"
	"testing"
)

// Properties are tried on 2,000 cases each, unless the flag says how many.
func TestMain(m *testing.M) {
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set("2000"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
