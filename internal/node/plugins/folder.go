package plugins

import (
	"fmt"
	"os"
	"path/filepath"
)

// folder is the folder of one node, with the layout of /var/lib/kubelet.
type folder string

func folderOf(dir, node string) folder { return folder(filepath.Join(dir, node)) }

// registry is the directory in which drivers create their registration sockets.
func (f folder) registry() string { return filepath.Join(string(f), "plugins_registry") }

// drivers is the directory in which drivers have their own files and sockets.
func (f folder) drivers() string { return filepath.Join(string(f), "plugins") }

// recordFile is the file with the records of the node.
func (f folder) recordFile() string { return filepath.Join(string(f), "prepared-claims.json") }

// create creates the folders, as a kubelet does.
func (f folder) create() error {
	for _, dir := range []string{f.registry(), f.drivers()} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return fmt.Errorf("folder for plugins: %w", err)
		}
	}
	return nil
}
