package alloc_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain runs properties on 50,000 cases, or 2,000 in short mode, unless -rapid.checks is set.
func TestMain(m *testing.M) {
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		cases := "50000"
		if testing.Short() {
			cases = "2000"
		}
		if err := checks.Value.Set(cases); err != nil {
			panic(err)
		}
	}
	// Files of failed cases would be read as scenarios. The printed seed is sufficient.
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
