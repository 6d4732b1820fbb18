package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// kubeconfigName is the admin kubeconfig's file in the data directory.
const kubeconfigName = "admin.kubeconfig"

// defaultDataDir is $ALLOT_DATA_DIR, or a folder in the user's state directory.
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

// quoted is a path as a shell takes it.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t\n'\"\\$&;|<>()*?[]#~`!{}") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// openDataDir gives the folder to use, made if need be, and what removes it if it is ephemeral.
func openDataDir(dir string, ephemeral bool) (string, func() error, error) {
	keep := func() error { return nil }
	if ephemeral {
		tmp, err := os.MkdirTemp("", "allot-")
		if err != nil {
			return "", keep, fmt.Errorf("make an ephemeral data directory: %w", err)
		}
		return tmp, func() error { return os.RemoveAll(tmp) }, nil
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
