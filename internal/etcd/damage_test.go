package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// quick limits the time of a start, whatever the damage. It allows for other load on the machine.
const quick = 20 * time.Second

// unseal removes the seal, as if the member had been killed.
func unseal(t *testing.T, dir string) {
	t.Helper()
	if err := breakSeal(dir); err != nil {
		t.Fatal(err)
	}
}

// closedMember creates the directory of a closed member, and returns its content.
func closedMember(t *testing.T) (dir string, content map[string]string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "etcd")
	s := start(t, dir)
	content = map[string]string{}
	for i := range 120 {
		key, value := fmt.Sprintf("/k%03d", i%90), strings.Repeat(fmt.Sprintf("%d.", i), 1+i*i)
		if _, err := s.Client().Put(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
		content[key] = value
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, content
}

// filesOf returns the files of a directory, without those that a member only prepares.
func filesOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) == ".tmp" {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		out[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// writeFiles writes files into a new directory.
func writeFiles(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "etcd")
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tryStart starts a member on damaged files. It must start with all their content, or end quickly
// with an error that has the directory and a remedy. It reports whether the member has started.
func tryStart(t *testing.T, dir string, content map[string]string) bool {
	t.Helper()
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), quick)
	defer cancel()
	s, err := Start(ctx, Options{Dir: dir, UnsafeNoFsync: true})
	if took := time.Since(begin); took > quick {
		t.Errorf("the start took %s: %v", took, err)
	}
	if err != nil {
		if ctx.Err() != nil || !strings.Contains(err.Error(), dir) ||
			!strings.Contains(err.Error(), "; restore the directory from a copy") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("the start ended with %v", err)
		}
		return false
	}
	defer s.Close()
	if content == nil {
		return true
	}
	got, err := s.Client().Get(ctx, "/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, kv := range got.Kvs {
		found[string(kv.Key)] = string(kv.Value)
	}
	if !maps.Equal(found, content) {
		t.Errorf("started with %d keys, and not with the %d that were there", len(found), len(content))
	}
	return true
}

// damages are ways to damage a file; nil is to delete it.
var damages = map[string]func(data []byte) []byte{
	"deleted":          func([]byte) []byte { return nil },
	"empty":            func([]byte) []byte { return []byte{} },
	"half":             func(data []byte) []byte { return data[:len(data)/2] },
	"short":            func(data []byte) []byte { return data[:min(len(data), 3000)] },
	"all zero":         func(data []byte) []byte { return make([]byte, len(data)) },
	"zero beginning":   func(data []byte) []byte { return overwrite(data, 0, 8192, 0) },
	"overwritten":      func(data []byte) []byte { return overwrite(data, 0, len(data), 0xa5) },
	"other beginning":  func(data []byte) []byte { return overwrite(data, 0, 16384, 0xa5) },
	"hole":             func(data []byte) []byte { return overwrite(data, 8192, 40960, 0) },
	"other piece":      func(data []byte) []byte { return overwrite(data, 8192, 40960, 0xa5) },
	"other beginning1": func(data []byte) []byte { return overwrite(data, 0, 1, 0xa5) },
}

func overwrite(data []byte, from, to int, value byte) []byte {
	out := bytes.Clone(data)
	for i := min(from, len(out)); i < min(to, len(out)); i++ {
		out[i] = value
	}
	return out
}

// Every file of a closed member is damaged in every way, with the seal and without.
func TestDamagedFiles(t *testing.T) {
	dir, content := closedMember(t)
	files := filesOf(t, dir)
	if len(files) < 4 { // seal, lock, log and database
		t.Fatalf("there are only %v", slices.Sorted(maps.Keys(files)))
	}
	refused := 0
	for _, sealed := range []bool{true, false} {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			for _, how := range slices.Sorted(maps.Keys(damages)) {
				t.Run(fmt.Sprintf("%s %s sealed=%t", name, how, sealed), func(t *testing.T) {
					changed := maps.Clone(files)
					if !sealed {
						delete(changed, sealName)
					}
					if _, ok := changed[name]; !ok {
						t.Skip("is the seal")
					}
					if data := damages[how](files[name]); data != nil {
						changed[name] = data
					} else {
						delete(changed, name)
					}
					if !tryStart(t, writeFiles(t, changed), content) {
						refused++
					}
				})
			}
		}
	}
	if refused < 2*len(damages) {
		t.Errorf("only %d of them were refused", refused)
	}
}

// Bytes are damaged at random places. With the seal no damage is accepted; without it, only damage
// that leaves valid values is.
func TestRandomDamage(t *testing.T) {
	dir, content := closedMember(t)
	files := filesOf(t, dir)
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		changed := maps.Clone(files)
		sealed := seed%4 == 0
		if !sealed {
			delete(changed, sealName)
		}
		names := slices.Sorted(maps.Keys(changed))
		name := names[r.IntN(len(names))]
		data := bytes.Clone(changed[name])
		for range 1 + r.IntN(20) {
			if len(data) == 0 {
				break
			}
			limit := len(data)
			if r.IntN(2) == 0 {
				limit = min(limit, 1<<16) // a log is mostly empty
			}
			at := r.IntN(limit)
			for i := at; i < min(at+1+r.IntN(600), len(data)); i++ {
				data[i] = byte(r.Uint32())
			}
		}
		changed[name] = data
		want := content
		if !sealed {
			want = nil
		}
		t.Run(fmt.Sprintf("seed %d %s sealed=%t", seed, name, sealed), func(t *testing.T) {
			tryStart(t, writeFiles(t, changed), want)
		})
	}
}

// A first start that was killed leaves anything between an empty directory and a member without
// data.
func TestInterruptedFirstStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "etcd")
	if err := start(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	files := filesOf(t, dir)
	db := filepath.Join("member-data", "member", "snap", "db")
	for name, left := range map[string]map[string][]byte{
		"nothing":     {"lock": nil},
		"empty":       {"lock": nil, db: {}},
		"all of it":   files,
		"no log, yet": {"lock": nil, db: bareDatabase(t)},
	} {
		t.Run(name, func(t *testing.T) {
			if !tryStart(t, writeFiles(t, left), map[string]string{}) {
				t.Error("it does not start")
			}
		})
	}
}

// A kill leaves a log whose last record may be incomplete. It is repaired.
func TestTornLog(t *testing.T) {
	dir, content := closedMember(t)
	unseal(t, dir)
	log := filepath.Join(dir, "member-data", "member", "wal", firstFile)
	l, err := readLog(filepath.Dir(log))
	if err != nil || l.last == 0 {
		t.Fatal(l, err)
	}
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	end := len(bytes.TrimRight(data, "\x00"))
	// The header of a record that is longer than the remaining file.
	copy(data[(end+7)/8*8:], []byte{0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0, 1})
	if err := os.WriteFile(log, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if !tryStart(t, dir, content) {
		t.Error("it does not start")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "member-data", "member", "wal", "*.broken")); len(left) > 0 {
		t.Errorf("it leaves %v", left)
	}
}

// A start whose context is cancelled ends.
func TestStartIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if s, err := Start(ctx, Options{Dir: dir, UnsafeNoFsync: true}); err == nil {
		s.Close()
		t.Fatal("it has started")
	} else if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	start(t, dir) // the directory is not locked
}

// bareDatabase returns the database of a member that does not have its log yet.
func bareDatabase(t *testing.T) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "db")
	db, err := bbolt.Open(name, 0o600, &bbolt.Options{NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("meta")); return err }); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
