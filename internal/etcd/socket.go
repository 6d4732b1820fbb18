package etcd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxSocketPath is below the 104 bytes (macOS) that a unix socket address can hold.
const maxSocketPath = 100

// socket is the path of the member's socket. dir is set if a directory was created for the socket
// because the path of the data directory is too long for an address.
type socket struct {
	path string
	dir  string
}

// newSocket determines the path of the socket and removes files of a killed process. The directory
// lock must be held.
func newSocket(dataDir string) (socket, error) {
	abs, err := filepath.Abs(dataDir)
	if err != nil {
		return socket{}, fmt.Errorf("etcd directory: %w", err)
	}
	s := socket{path: filepath.Join(abs, "etcd.sock")}
	if len(s.path) > maxSocketPath {
		dir, err := os.MkdirTemp("", "allot-etcd-")
		if err != nil {
			return socket{}, fmt.Errorf("etcd socket: %w", err)
		}
		s = socket{path: filepath.Join(dir, "etcd.sock"), dir: dir}
	}
	if len(s.path) > maxSocketPath {
		return socket{}, fmt.Errorf("etcd socket: path %q is longer than %d bytes", s.path, maxSocketPath)
	}
	if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return socket{}, fmt.Errorf("stale etcd socket: %w", err)
	}
	return s, nil
}

func (s socket) remove() error {
	if s.dir != "" {
		return os.RemoveAll(s.dir)
	}
	if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
