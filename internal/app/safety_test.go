package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/klog/v2"

	"github.com/allot-dev/allot/internal/etcd"
)

// The log is a separate file, with one line for each message.
func TestLogFile(t *testing.T) {
	defer LogTo(os.Stderr)
	dir := t.TempDir()
	log, err := openLog(dir, textLog)
	if err != nil {
		t.Fatal(err)
	}
	klog.Error("an error")
	klog.Warning("a warning")
	klog.Flush()
	log.Close()
	text, err := os.ReadFile(filepath.Join(dir, "allot.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"an error", "a warning"} {
		if n := strings.Count(string(text), line); n != 1 {
			t.Errorf("%q is in the log %d times:\n%s", line, n, text)
		}
	}
	linked := t.TempDir()
	target := filepath.Join(t.TempDir(), "other")
	if err := os.Symlink(target, filepath.Join(linked, "allot.log")); err != nil {
		t.Fatal(err)
	}
	if _, err := openLog(linked, textLog); err == nil || !strings.Contains(err.Error(), "is a symbolic link") {
		t.Errorf("a log that is a link: %v", err)
	}
	if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the log was written through a link: %v", err)
	}
}

// Each secret that other users may read is named in a warning.
func TestWarnings(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a [1]")
	if err := os.MkdirAll(filepath.Join(dir, "pki"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"pki/ca.key": 0o644, "pki/ca.crt": 0o644, "admin.kubeconfig": 0o640,
		"node.kubeconfig": 0o600} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "pki"), 0o777); err != nil {
		t.Fatal(err)
	}
	got := warnings(dir)
	if len(got) != 3 {
		t.Errorf("there are %d: %v", len(got), got)
	}
	for _, name := range []string{"pki (mode 0777)", "pki/ca.key (mode 0644)", "admin.kubeconfig (mode 0640)"} {
		if !strings.Contains(strings.Join(got, "\n"), name) {
			t.Errorf("%s is not mentioned: %v", name, got)
		}
	}
}

func TestExitCode(t *testing.T) {
	var said strings.Builder
	streams := Streams{Err: &said}
	interrupted, cancel := context.WithCancelCause(context.Background())
	cancel(signalled{syscall.SIGTERM})
	for _, tc := range []struct {
		ctx  context.Context
		err  error
		want int
	}{
		{t.Context(), nil, 0},
		{interrupted, nil, 0}, // it was stopped while it served
		{t.Context(), errors.New("no"), 1},
		{interrupted, errors.New("no"), 1},
		{t.Context(), errReported, 1},
		{interrupted, fmt.Errorf("%w: applied 90 of 500 objects", errInterrupted), 143},
	} {
		if got := exitCode(tc.ctx, tc.err, streams); got != tc.want {
			t.Errorf("the exit code of %v is %d, want %d", tc.err, got, tc.want)
		}
	}
	if got := said.String(); got != "allot: no\nallot: no\nallot: interrupted: applied 90 of 500 objects\n" {
		t.Errorf("it says %q", got)
	}
}

// Cleanups run once on an interrupt, unless they ran before.
func TestCleanups(t *testing.T) {
	var c cleanups
	kept, done := openEphemeral(t, &c), openEphemeral(t, &c)
	if err := done.remove(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(done.dir, 0o700); err != nil { // created by another process, under the same name
		t.Fatal(err)
	}
	defer os.Remove(done.dir)
	c.run()
	if _, err := os.Stat(kept.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
	if _, err := os.Stat(done.dir); err != nil {
		t.Errorf("a folder was removed that was removed before: %v", err)
	}
}

type ephemeral struct {
	dir    string
	remove func() error
}

func openEphemeral(t *testing.T, c *cleanups) ephemeral {
	t.Helper()
	dir, remove, err := openDataDir("", true, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return ephemeral{dir, remove}
}

func TestInUseRemedy(t *testing.T) {
	if got := inUseRemedy(fmt.Errorf("/d: %w", etcd.ErrInUse)); !errors.Is(got, etcd.ErrInUse) ||
		!strings.Contains(got.Error(), "another --data-dir") {
		t.Error(got)
	}
	if got := inUseRemedy(errors.New("no")); got.Error() != "no" {
		t.Error(got)
	}
}
