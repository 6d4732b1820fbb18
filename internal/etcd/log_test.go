package etcd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
)

// logOf returns the only file of the log of a closed member, with its content.
func logOf(t *testing.T, dir string) (file string, data []byte) {
	t.Helper()
	s := start(t, dir)
	if _, err := s.Client().Put(t.Context(), "/k", "v"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	unseal(t, dir)
	file = filepath.Join(dir, "member-data", "member", "wal", firstFile)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return file, data
}

// A member whose log is damaged at its beginning does not start. The error has its directory, and
// nothing is changed.
func TestDamagedBeginningOfTheLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[1]")
	file, data := logOf(t, dir)
	starts := startsOfRecords(t, file, len(readHeader(firstFile)))
	damaged := map[string][]byte{"empty": {}, "no record": make([]byte, len(data))}
	for i, at := range starts {
		for name, value := range map[string]byte{"length": 0xff, "no length": 0} {
			changed := bytes.Clone(data)
			changed[at], changed[at+1] = value, value
			damaged[string(rune('1'+i))+" "+name] = changed
		}
		changed := bytes.Clone(data)
		changed[at+8] ^= 0xff // the first field of a record, after its length
		damaged[string(rune('1'+i))+" content"] = changed
	}
	for name, content := range damaged {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Start(t.Context(), Options{Dir: dir})
			if err == nil {
				s.Close()
				t.Fatal("the member has started")
			}
			if text := err.Error(); !strings.HasPrefix(text, "etcd in "+dir+": ") ||
				!strings.Contains(text, "its log is damaged: record ") {
				t.Error(err)
			}
			after, err := os.ReadFile(file)
			if err != nil || !bytes.Equal(after, content) {
				t.Errorf("the log was changed: %v", err)
			}
		})
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := start(t, dir).Client().Get(t.Context(), "/k")
	if err != nil || len(got.Kvs) != 1 {
		t.Errorf("with its log as it was: %v, %v", got, err)
	}
}

// startsOfRecords returns the offsets of the first n records.
func startsOfRecords(t *testing.T, name string, n int) []int64 {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	decoder := wal.NewDecoder(logFile{file})
	var starts []int64
	for range n {
		starts = append(starts, decoder.LastOffset())
		if err := decoder.Decode(&walpb.Record{}); err != nil {
			t.Fatal(err)
		}
	}
	return starts
}

// The oldest file of a log from which older ones were deleted has no snapshot at its beginning. A
// missing log, and files of other kinds, are not damage either.
func TestUndamagedLogs(t *testing.T) {
	file, data := logOf(t, t.TempDir())
	clear(data[startsOfRecords(t, file, len(readHeader(firstFile)))[2]:])
	dir := t.TempDir()
	for _, name := range []string{"", "0.tmp", "0000000000000003-0000000000000009.wal"} {
		if name != "" {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := readLog(dir); err != nil {
			t.Errorf("with %q: %v", name, err)
		}
	}
	if _, err := readLog(filepath.Join(dir, "none")); err != nil {
		t.Error(err)
	}
}
