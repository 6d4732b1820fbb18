package plugins

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// scan returns the registration sockets in a folder and below, by path, and all folders. Names that
// begin with a dot are for files that a driver is about to rename.
func scan(registry string) (sockets map[string]fs.FileInfo, folders []string) {
	sockets = map[string]fs.FileInfo{}
	_ = filepath.WalkDir(registry, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // deleted meanwhile, which is an event that brings the next scan
		case entry.IsDir():
			folders = append(folders, path)
		case entry.Type()&os.ModeSocket != 0 && !strings.HasPrefix(entry.Name(), "."):
			if info, err := entry.Info(); err == nil {
				sockets[path] = info
			}
		}
		return nil
	})
	return sockets, folders
}

// sameSocket reports whether a path still has the socket that it had: a plugin that restarts
// creates another one.
func sameSocket(a, b fs.FileInfo) bool { return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) }
