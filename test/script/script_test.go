// Package script drives the real binary as a user would. Each file of testdata is one
// scenario in the language of testscript, with the commands of commands_test.go added to it.
package script

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/allot-dev/allot/examples/driver/exampledriver"
	"github.com/allot-dev/allot/internal/app"
)

// atOnce is how many scripts run at once: mostly they wait for something that takes no processor.
const atOnce = "5"

// Processes collect garbage more seldom than they would by themselves, as long as there is little
// of it: that takes a fifth less of the processor.
const (
	goGC       = "400"
	goMemLimit = "768MiB"
)

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	// The test binary is the allot binary too, so that nothing has to be built for it.
	testscript.Main(m, map[string]func(){
		"allot":          func() { os.Exit(app.Main()) },
		"example-driver": func() { os.Exit(exampledriver.Main()) },
		// kubectl finds the binary under this name as a plugin.
		"kubectl-allot": func() { os.Exit(app.Main()) },
		"kubectl":       func() { os.Args = append([]string{"allot", "kubectl"}, os.Args[1:]...); os.Exit(app.Main()) },
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			root, err := filepath.Abs("../..")
			if err != nil {
				return err
			}
			env.Setenv("REPO", root)
			env.Setenv("FIXTURES", filepath.Join(root, "test/script/testdata/fixtures"))
			env.Setenv("ALLOT_DATA_DIR", filepath.Join(env.WorkDir, "data"))
			env.Setenv("NO_COLOR", "1")
			env.Setenv("GOGC", goGC)
			env.Setenv("GOMEMLIMIT", goMemLimit)
			env.Setenv("HOME", env.WorkDir)
			env.Values[recordings{}] = map[string]*recording{}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"eventually": eventually,
			"stays":      stays,
			"ready":      ready,
			"repeat":     repeat,
			"onevalue":   oneValue,
			"later":      later,
			"save":       save,
			"record":     record,
			"recorded":   recorded,
			"quiet":      quiet,
			"page":       page,
			"signals":    signals,
		},
		Deadline: deadline(t),
	})
}

func deadline(t *testing.T) time.Time {
	if d, ok := t.Deadline(); ok {
		return d.Add(-10 * time.Second)
	}
	return time.Time{}
}
