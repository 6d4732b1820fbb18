package pki

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// locked runs f while no other process reads or changes dir. Otherwise, servers that share a
// directory and start together would each create an authority.
func locked(dir string, f func() error) (err error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }() // releases the lock
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	return f()
}
