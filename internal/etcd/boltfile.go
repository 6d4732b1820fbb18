package etcd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// The layout of a bbolt file. All numbers are in the byte order of the machine.
const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2

	boltPageHeader = 16 // id 8, flags 2, count 2, overflow 4
	boltElement    = 16 // branch: position 4, key size 4, page 8; leaf: flags 4, position 4, key size 4, value size 4
	boltMeta       = 64 // magic 4, version 4, page size 4, flags 4, root 16, freelist 8, end 8, transaction 8, checksum 8
	boltBucket     = 16 // root page 8, sequence 8; a bucket with root page 0 is inline

	boltBranch, boltLeaf = 1, 2
	boltIsBucket         = 1
	boltMaxDepth         = 64
)

// errBolt is the error for a damaged database file.
var errBolt = errors.New("the database is damaged")

// database holds the properties of a member's database.
type database struct {
	// applied is the index of the last log entry applied to the database; 0 for a new one.
	applied uint64
}

// readDatabase checks all pages of a database file, without the values. bbolt trusts its file: a
// damaged page makes it panic or read beyond the end of the file.
func readDatabase(name string) (db database, err error) {
	file, err := os.Open(name)
	if err != nil {
		return db, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return db, err // bbolt initializes an empty file
	}
	data, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return db, fmt.Errorf("map %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, unix.Munmap(data)) }()
	walk, root, err := newBoltWalk(data)
	if err != nil {
		return db, err
	}
	return walk.db, walk.bucket(nil, root)
}

// boltWalk visits each page of a file once.
type boltWalk struct {
	data     []byte
	pageSize uint64
	visited  []bool // by page
	db       database
}

// newBoltWalk returns a walk that uses the newer of the valid meta pages, and its root page.
func newBoltWalk(data []byte) (*boltWalk, uint64, error) {
	var newest []byte
	for _, at := range metaOffsets(data) {
		if meta := metaAt(data, at); meta != nil && (newest == nil || u64(meta[48:]) > u64(newest[48:])) {
			newest = meta
		}
	}
	if newest == nil {
		return nil, 0, fmt.Errorf("%w: neither of its meta pages is valid", errBolt)
	}
	size, end := uint64(u32(newest[8:])), u64(newest[40:])
	if end > uint64(len(data))/size {
		return nil, 0, fmt.Errorf("%w: it has %d bytes, and %d pages of %d bytes belong to it", errBolt, len(data), end, size)
	}
	w := &boltWalk{data: data, pageSize: size, visited: make([]bool, end)}
	return w, u64(newest[16:]), nil
}

// metaOffsets returns the possible offsets of meta pages: one is at the start of the file, the
// other on the next page, whose offset only the first one determines.
func metaOffsets(data []byte) []uint64 {
	offsets := []uint64{boltPageHeader}
	for size := uint64(1024); size <= 1<<16 && size < uint64(len(data)); size *= 2 {
		offsets = append(offsets, size+boltPageHeader)
	}
	return offsets
}

// metaAt returns the meta structure at an offset, nil if there is no valid one.
func metaAt(data []byte, at uint64) []byte {
	if at+boltMeta > uint64(len(data)) {
		return nil
	}
	meta := data[at : at+boltMeta]
	size := u32(meta[8:])
	if u32(meta) != boltMagic || u32(meta[4:]) != boltVersion || size < 512 || size > 1<<16 {
		return nil
	}
	if at != boltPageHeader && at != uint64(size)+boltPageHeader {
		return nil
	}
	sum := fnv.New64a()
	sum.Write(meta[:boltMeta-8])
	if sum.Sum64() != u64(meta[boltMeta-8:]) {
		return nil
	}
	return meta
}

// bucket walks the tree of the bucket at path.
func (w *boltWalk) bucket(path [][]byte, root uint64) error {
	var last []byte
	return w.page(path, root, 0, &last)
}

// page walks a page and its descendants. last is the greatest key of the bucket so far.
func (w *boltWalk) page(path [][]byte, id uint64, depth int, last *[]byte) error {
	switch {
	case id >= uint64(len(w.visited)) || id < 2:
		return fmt.Errorf("%w: page %d is none of its %d pages", errBolt, id, len(w.visited))
	case w.visited[id]:
		return fmt.Errorf("%w: page %d belongs to two places", errBolt, id)
	case depth > boltMaxDepth:
		return fmt.Errorf("%w: page %d is %d pages deep", errBolt, id, depth)
	}
	w.visited[id] = true
	page := w.data[id*w.pageSize:]
	more := uint64(u32(page[12:]))
	if u64(page) != id || more >= uint64(len(w.visited))-id {
		return fmt.Errorf("%w: page %d says that it is page %d, with %d more", errBolt, id, u64(page), more)
	}
	for next := id + 1; next <= id+more; next++ {
		if w.visited[next] {
			return fmt.Errorf("%w: page %d belongs to two places", errBolt, next)
		}
		w.visited[next] = true
	}
	return w.elements(path, id, page[:(more+1)*w.pageSize], depth, last)
}

// elements walks the elements of a page, or of an inline bucket.
func (w *boltWalk) elements(path [][]byte, id uint64, page []byte, depth int, last *[]byte) error {
	flags, count := u16(page[8:]), uint64(u16(page[10:]))
	if flags != boltBranch && flags != boltLeaf || boltPageHeader+count*boltElement > uint64(len(page)) {
		return fmt.Errorf("%w: page %d has type %d and %d elements", errBolt, id, flags, count)
	}
	if flags == boltBranch && count == 0 {
		return fmt.Errorf("%w: page %d leads nowhere", errBolt, id)
	}
	for i := range count {
		at := boltPageHeader + i*boltElement
		element := page[at:]
		if flags == boltBranch {
			if uint64(u32(element))+uint64(u32(element[4:])) > uint64(len(element)) {
				return fmt.Errorf("%w: element %d of page %d ends beyond it", errBolt, i, id)
			}
			if err := w.page(path, u64(element[8:]), depth+1, last); err != nil {
				return err
			}
			continue
		}
		position, keySize, valueSize := uint64(u32(element[4:])), uint64(u32(element[8:])), uint64(u32(element[12:]))
		if position+keySize+valueSize > uint64(len(element)) || keySize == 0 {
			return fmt.Errorf("%w: element %d of page %d ends beyond it", errBolt, i, id)
		}
		key := element[position : position+keySize]
		if *last != nil && bytes.Compare(*last, key) >= 0 {
			return fmt.Errorf("%w: the keys of page %d are not in order", errBolt, id)
		}
		*last = key
		if err := w.leaf(path, id, u32(element)&boltIsBucket != 0, key, element[position+keySize:][:valueSize]); err != nil {
			return err
		}
	}
	return nil
}

// leaf walks a nested bucket, and records the values needed from others.
func (w *boltWalk) leaf(path [][]byte, id uint64, isBucket bool, key, value []byte) error {
	if !isBucket {
		if len(path) == 1 && string(path[0]) == "meta" && string(key) == "consistent_index" && len(value) == 8 {
			w.db.applied = binary.BigEndian.Uint64(value)
		}
		if len(path) == 1 && string(path[0]) == "key" {
			return checkRevision(id, key)
		}
		return nil
	}
	inner := slices.Concat(path, [][]byte{key})
	if len(value) < boltBucket {
		return fmt.Errorf("%w: a bucket in page %d has %d bytes", errBolt, id, len(value))
	}
	if root := u64(value); root != 0 {
		return w.bucket(inner, root)
	}
	if len(value) < boltBucket+boltPageHeader {
		return fmt.Errorf("%w: a bucket in page %d has %d bytes", errBolt, id, len(value))
	}
	var last []byte
	return w.elements(inner, id, value[boltBucket:], 0, &last)
}

// checkRevision reports an error if the key of a stored value is not a revision: two numbers of 8
// bytes that are not negative, with "_" between them, and one byte more for a deletion. etcd panics
// when it reads any other key.
func checkRevision(page uint64, key []byte) error {
	const separator, revision, marked = 8, 17, 18
	if len(key) != revision && len(key) != marked || key[separator] != '_' || key[0]&0x80 != 0 ||
		key[separator+1]&0x80 != 0 {
		return fmt.Errorf("%w: a key in page %d is not a revision", errBolt, page)
	}
	return nil
}

func u16(b []byte) uint16 { return binary.NativeEndian.Uint16(b) }
func u32(b []byte) uint32 { return binary.NativeEndian.Uint32(b) }
func u64(b []byte) uint64 { return binary.NativeEndian.Uint64(b) }
