package alloc_test

import (
	"flag"
	"os"
	"testing"
)

// Properties are tried on 50,000 cases each, or 2,000 in short mode, unless the flag says how many.
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
	// Files of failed cases would stand among the scenarios. The seed that is printed does as well.
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
