package etcd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// errLog is the error for a damaged log.
var errLog = errors.New("its log is damaged")

// readHeader returns the types of the first records of a log. Only a log that was never truncated
// has the last one there.
func readHeader(name string) []int64 {
	if name == firstFile {
		return []int64{wal.CrcType, wal.MetadataType, wal.SnapshotType}
	}
	return []int64{wal.CrcType, wal.MetadataType}
}

const firstFile = "0000000000000000-0000000000000000.wal"

// memberLog holds the properties of a member's log.
type memberLog struct {
	exists bool
	last   uint64 // index of the last readable entry
	commit uint64 // index up to which entries are known to be committed
}

// readLog reads a log as the member does. A log that ends in the middle of a record is not an
// error, because the process may have been killed during a write. The caller decides whether the
// rest is sufficient.
func readLog(dir string) (l memberLog, err error) {
	files, err := logFiles(dir)
	if err != nil || len(files) == 0 {
		return l, err
	}
	l.exists = true
	readers := make([]fileutil.FileReader, len(files))
	for i, file := range files {
		defer file.Close()
		readers[i] = logFile{file}
	}
	expected := readHeader(filepath.Base(files[0].Name()))
	decoder := wal.NewDecoder(readers...)
	for n := 0; ; n++ {
		var record walpb.Record
		err := decoder.Decode(&record)
		if n < len(expected) && (err != nil || record.GetType() != expected[n]) {
			return l, fmt.Errorf("%w: record %d at the beginning of %s: %w", errLog, n+1, files[0].Name(),
				orType(err, record.GetType()))
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return l, nil
		case err != nil:
			return l, fmt.Errorf("%w: %w", errLog, err)
		}
		if err := l.add(decoder, &record); err != nil {
			return l, fmt.Errorf("%w: record %d: %w", errLog, n+1, err)
		}
	}
}

func orType(err error, typ int64) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("it has type %d", typ)
}

// add processes a record.
func (l *memberLog) add(decoder wal.Decoder, record *walpb.Record) error {
	switch record.GetType() {
	case wal.CrcType:
		if sum := decoder.LastCRC(); sum != 0 && record.Validate(sum) != nil {
			return wal.ErrCRCMismatch
		}
		decoder.UpdateCRC(record.GetCrc())
	case wal.EntryType:
		var entry raftpb.Entry
		if err := proto.Unmarshal(record.Data, &entry); err != nil {
			return err
		}
		l.last = entry.GetIndex()
	case wal.StateType:
		var state raftpb.HardState
		if err := proto.Unmarshal(record.Data, &state); err != nil {
			return err
		}
		l.commit = state.GetCommit()
	case wal.SnapshotType:
		var snapshot walpb.Snapshot
		if err := proto.Unmarshal(record.Data, &snapshot); err != nil {
			return err
		}
		l.last = max(l.last, snapshot.GetIndex())
	}
	return nil
}

// logFiles opens the files of a log in order. Their names are numbered consecutively.
func logFiles(dir string) (files []*os.File, err error) {
	entries, err := os.ReadDir(dir) // in order
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			for _, file := range files {
				file.Close()
			}
		}
	}()
	var next uint64
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".wal" {
			continue
		}
		var number, index uint64
		if _, err := fmt.Sscanf(e.Name(), "%016x-%016x.wal", &number, &index); err != nil {
			continue // the member ignores it as well
		}
		if len(files) > 0 && number != next {
			return files, fmt.Errorf("%w: a file before %s is missing", errLog, filepath.Join(dir, e.Name()))
		}
		next = number + 1
		file, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return files, err
		}
		files = append(files, file)
	}
	return files, nil
}

// logFile is a file with a size that the decoder can query.
type logFile struct{ *os.File }

// FileInfo implements fileutil.FileReader.
func (f logFile) FileInfo() (fs.FileInfo, error) { return f.Stat() }
