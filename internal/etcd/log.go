package etcd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
)

// beginning are the records that the first file of a member's log begins with. Only a log that has never been cut has the last
// one there.
var beginning = []int64{wal.CrcType, wal.MetadataType, wal.SnapshotType}

// checkLog refuses a log of which the beginning cannot be read. The member would take what is damaged there for a write that was
// cut short, cut its file off before it, and panic for want of a log.
func checkLog(dir string) error {
	entries, err := os.ReadDir(dir) // which are in order
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	first := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return filepath.Ext(e.Name()) == ".wal" })
	if first < 0 {
		return nil
	}
	name, expected := entries[first].Name(), beginning
	if name != firstFile {
		expected = beginning[:2]
	}
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer file.Close()
	if err := readBeginning(file, expected); err != nil {
		return fmt.Errorf("the beginning of its log %s is damaged: %w; restore the directory from a copy, or start with an empty one", file.Name(), err)
	}
	return nil
}

const firstFile = "0000000000000000-0000000000000000.wal"

// logFile has a file's size at hand, as the decoder wants it.
type logFile struct{ *os.File }

func (f logFile) FileInfo() (fs.FileInfo, error) { return f.Stat() }

func readBeginning(file *os.File, expected []int64) error {
	decoder := wal.NewDecoder(logFile{file})
	for i, kind := range expected {
		var record walpb.Record
		if err := decoder.Decode(&record); err != nil {
			return fmt.Errorf("record %d: %w", i+1, err)
		}
		if record.GetType() != kind {
			return fmt.Errorf("record %d has type %d, not %d", i+1, record.GetType(), kind)
		}
		if kind == wal.CrcType {
			decoder.UpdateCRC(record.GetCrc())
		}
	}
	return nil
}
