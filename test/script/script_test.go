// Package script drives the real binary as a user would. Each file of testdata is one
// scenario in the language of testscript, with the commands below added to it.
package script

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/allot-dev/allot/internal/app"
)

func TestMain(m *testing.M) {
	// The test binary is the allot binary too, so that nothing has to be built for it.
	testscript.Main(m, map[string]func(){
		"allot":   func() { os.Exit(app.Main()) },
		"kubectl": func() { os.Args = append([]string{"allot", "kubectl"}, os.Args[1:]...); os.Exit(app.Main()) },
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("ALLOT_DATA_DIR", filepath.Join(env.WorkDir, "data"))
			env.Setenv("NO_COLOR", "1")
			env.Setenv("HOME", env.WorkDir)
			root, err := filepath.Abs("../..")
			env.Setenv("REPO", root)
			return err
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"eventually": eventually,
			"ready":      ready,
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

// poll is how long eventually and ready wait between two looks.
const poll = 200 * time.Millisecond

// eventually runs a command until its output matches:
//
//	eventually [!] 30s 'regexp' kubectl get pods
//
// With ! it waits until the output does not match.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	wantMatch := true
	if len(args) > 0 && args[0] == "!" {
		wantMatch, args = false, args[1:]
	}
	if neg || len(args) < 3 {
		ts.Fatalf("usage: eventually [!] timeout regexp command [args…]")
	}
	timeout, err := time.ParseDuration(args[0])
	ts.Check(err)
	want, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	var last string
	for end := time.Now().Add(timeout); time.Now().Before(end); time.Sleep(poll) {
		out, err := command(ts, args[2], args[3:]...).CombinedOutput()
		last = string(out)
		if want.MatchString(last) == wantMatch && (err == nil || !wantMatch) {
			return
		}
	}
	ts.Fatalf("no match for %q within %s; last output of %s:\n%s", args[1], timeout, strings.Join(args[2:], " "), last)
}

// ready waits until the server of the data directory answers: ready 30s
func ready(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ready timeout")
	}
	eventually(ts, false, []string{args[0], "^ok$", "kubectl", "get", "--raw", "/readyz"})
}

func command(ts *testscript.TestScript, name string, args ...string) *exec.Cmd {
	path, err := lookPath(ts.Getenv("PATH"), name)
	ts.Check(err)
	cmd := exec.Command(path, args...)
	cmd.Dir = ts.MkAbs(".")
	for _, key := range []string{"PATH", "HOME", "ALLOT_DATA_DIR", "NO_COLOR", "TMPDIR"} {
		cmd.Env = append(cmd.Env, key+"="+ts.Getenv(key))
	}
	return cmd
}

func lookPath(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s is not on the script's PATH", name)
}
