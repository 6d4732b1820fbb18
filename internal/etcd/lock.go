package etcd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrInUse means that another process uses the data directory.
var ErrInUse = errors.New("data directory is in use by another process")

// dirLock is an advisory lock on a directory. The kernel releases it when the process ends, so that
// a killed process leaves nothing to clean up.
type dirLock struct {
	file *os.File
}

func lockDir(dir string) (*dirLock, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w; make the directory and this file accessible, or remove the file", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w", dir, ErrInUse)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &dirLock{file: f}, nil
}

func (l *dirLock) release() error {
	return l.file.Close()
}

// InUse reports whether a process uses the data directory.
func InUse(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, "lock")); err != nil {
		return false
	}
	lock, err := lockDir(dir)
	if err != nil {
		return errors.Is(err, ErrInUse)
	}
	return lock.release() != nil
}
