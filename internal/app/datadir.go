package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/allot-dev/allot/internal/etcd"
)

// kubeconfigName is the file name of the admin kubeconfig in the data directory.
const kubeconfigName = "admin.kubeconfig"

// defaultDataDir returns $ALLOT_DATA_DIR, or a directory in the user's state directory.
func defaultDataDir() (string, error) {
	if dir := os.Getenv("ALLOT_DATA_DIR"); dir != "" {
		return dir, nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "allot"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find a data directory (set $ALLOT_DATA_DIR to one): %w", err)
	}
	return filepath.Join(home, ".local", "state", "allot"), nil
}

// quoted returns a path quoted for a shell.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t\n'\"\\$&;|<>()*?[]#~`!{}") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// openDataDir returns the folder to use, made if need be, and what removes it if it is ephemeral. It
// is removed also when the process must end immediately.
func openDataDir(dir string, ephemeral bool, hurry *cleanups) (string, func() error, error) {
	keep := func() error { return nil }
	if ephemeral {
		tmp, err := os.MkdirTemp("", "allot-")
		if err != nil {
			return "", keep, fmt.Errorf("make an ephemeral data directory: %w", err)
		}
		forget := func() {}
		if hurry != nil {
			forget = hurry.add(func() { removeInUse(tmp) })
		}
		return tmp, func() error { defer forget(); return os.RemoveAll(tmp) }, nil
	}
	if dir == "" {
		var err error
		if dir, err = defaultDataDir(); err != nil {
			return "", keep, err
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", keep, fmt.Errorf("data directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", keep, fmt.Errorf("data directory: %w", err)
	}
	return dir, keep, nil
}

// removeInUse removes a folder in which others may still make files.
func removeInUse(dir string) {
	for range 20 {
		if os.RemoveAll(dir) == nil {
			return
		}
	}
}

// warnings lists files with secrets that others than their owner may read or change.
func warnings(dir string) []string {
	var out []string
	for _, pattern := range []string{"", "etcd", "pki", "pki/*.key", "*.kubeconfig", "etcd/member-data",
		"etcd/member-data/member/*/*"} {
		files, err := filepath.Glob(filepath.Join(globEscaped(dir), pattern))
		if err != nil {
			continue
		}
		for _, file := range files {
			info, err := os.Stat(file)
			switch {
			case err != nil:
			case info.IsDir() && info.Mode().Perm()&0o022 != 0:
				out = append(out,
					fmt.Sprintf("warning: others may write in %s (mode %04o): chmod go-w %s", file, info.Mode().Perm(), quoted(file)))
			case !info.IsDir() && info.Mode().Perm()&0o077 != 0:
				out = append(
					out,
					fmt.Sprintf("warning: others may use the secrets in %s (mode %04o): chmod go= %s", file, info.Mode().Perm(),
						quoted(file)),
				)
			}
		}
	}
	return out
}

// globEscaped returns a path as a pattern that matches it alone.
func globEscaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// inUseRemedy adds the remedy to an error that matches etcd.ErrInUse.
func inUseRemedy(err error) error {
	if errors.Is(err, etcd.ErrInUse) {
		return fmt.Errorf("%w; use its control plane (allot kubectl --data-dir …), stop it, or give another --data-dir", err)
	}
	return err
}
