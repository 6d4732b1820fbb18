package real

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// bin is the folder with the programs that are built, and with kubectl.
var bin string

func TestMain(m *testing.M) {
	flag.StringVar(&bin, "bin", "", "absolute `folder` that keeps the programs, which are only built if they have changed")
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	// Scenarios kill what they share, so that one runs at a time.
	if err := flag.Set("test.parallel", "1"); err != nil {
		panic(err)
	}
	if bin == "" {
		dir, err := os.MkdirTemp("", "real")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		bin = dir
	}
	if err := build("../..", "allot", "./cmd/allot"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	kubectl := "#!/bin/sh\nexec " + filepath.Join(bin, "allot") + " kubectl \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte(kubectl), 0o700); err != nil {
		panic(err)
	}
	return m.Run()
}

// build builds the program of a package, in the module of the folder dir.
func build(dir, name, pkg string) error {
	cmd := exec.Command("go", "build", "-o", filepath.Join(bin, name), pkg)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s in %s: %w\n%s", pkg, dir, err, out)
	}
	return nil
}
