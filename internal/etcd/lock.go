package etcd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// ErrInUse means that another process uses the data directory.
var ErrInUse = errors.New("data directory is in use by another process")

// dirLock is an advisory lock on a directory: an exclusive lock of its file. The kernel releases it
// when the process ends, so that a killed process leaves nothing to clean up. InUse only takes a
// shared lock, for a moment.
type dirLock struct {
	file *os.File
}

func lockDir(dir string) (*dirLock, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w; make the directory and this file accessible, or remove the file", err)
	}
	switch held, err := exclusive(f); {
	case err != nil:
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	case !held:
		f.Close()
		return nil, fmt.Errorf("%s: %w", dir, ErrInUse)
	}
	return &dirLock{file: f}, nil
}

// exclusive takes the exclusive lock, and returns false if another process has it. Shared locks end
// within a moment, and it waits for that.
func exclusive(f *os.File) (bool, error) {
	for {
		if held, err := try(f, unix.LOCK_EX); held || err != nil {
			return held, err
		}
		// Several processes may have a shared lock, unless one has the exclusive lock.
		if shared, err := try(f, unix.LOCK_SH); !shared || err != nil {
			return false, err
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_UN); err != nil {
			return false, err
		}
		time.Sleep(time.Millisecond)
	}
}

// try takes a lock, and returns false if another process has one that excludes it.
func try(f *os.File, lock int) (bool, error) {
	err := unix.Flock(int(f.Fd()), lock|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func (l *dirLock) release() error {
	return l.file.Close()
}

// InUse reports whether a process uses the data directory. It does not keep a process from
// beginning to.
func InUse(dir string) bool {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	free, err := try(f, unix.LOCK_SH)
	return err == nil && !free
}
