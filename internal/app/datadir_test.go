package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestDefaultDataDir(t *testing.T) {
	for _, tc := range []struct{ own, state, home, want string }{
		{"/data", "/state", "/home/user", "/data"},
		{"", "/state", "/home/user", "/state/allot"},
		{"", "", "/home/user", "/home/user/.local/state/allot"},
	} {
		t.Setenv("ALLOT_DATA_DIR", tc.own)
		t.Setenv("XDG_STATE_HOME", tc.state)
		t.Setenv("HOME", tc.home)
		if got, err := defaultDataDir(); err != nil || got != tc.want {
			t.Errorf("defaultDataDir() = %q, %v; want %q", got, err, tc.want)
		}
	}
}

func TestDataDirIsForTheUserAlone(t *testing.T) {
	want := filepath.Join(t.TempDir(), "a", "b")
	dir, remove, err := openDataDir(want, false, nil)
	if err != nil || dir != want {
		t.Fatalf("openDataDir() = %q, %v", dir, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("stat of %s: %v, %v; want mode 0700", dir, info, err)
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("a data directory that was asked for does not stay: %v", err)
	}
}

func TestEphemeralDataDirIsDeleted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir, remove, err := openDataDir("/not/used", true, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat of %s after remove: %v", dir, err)
	}
}

func TestQuoted(t *testing.T) {
	for path, want := range map[string]string{
		"/home/you/.local/state/allot/admin.kubeconfig": "/home/you/.local/state/allot/admin.kubeconfig",
		"/a b/it's": `'/a b/it'\''s'`,
	} {
		if got := quoted(path); got != want {
			t.Errorf("quoted(%q) = %s", path, got)
		}
	}
}
