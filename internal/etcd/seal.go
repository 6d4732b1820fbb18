package etcd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
)

// sealName is the file with the checksums of a member's files. It exists from the end of a member
// to the next start.
const sealName = "sealed"

// errSeal is the error for files that differ from the seal.
var errSeal = errors.New("its files are damaged")

// sums maps file names to checksums.
type sums map[string]string

// sumFiles computes the checksums of all files that a member needs.
func sumFiles(ctx context.Context, member string) (sums, error) {
	out := sums{}
	err := filepath.WalkDir(member, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() || filepath.Ext(path) == ".tmp" || filepath.Ext(path) == ".broken" {
			return nil
		}
		name, err := filepath.Rel(member, path)
		if err != nil {
			return err
		}
		out[name], err = sumFile(ctx, path)
		return err
	})
	return out, err
}

func sumFile(ctx context.Context, path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	size := int64(0)
	for {
		n, err := io.CopyN(sum, file, 16<<20)
		size += n
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Sprintf("%08x %d", sum.Sum32(), size), nil
		case err != nil:
			return "", err
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		}
	}
}

// seal stores the checksums of a stopped member's files.
func seal(dir, member string) error {
	found, err := sumFiles(context.Background(), member)
	if err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(&text, "%s %s\n", found[name], name)
	}
	if err := renameio.WriteFile(filepath.Join(dir, sealName), []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	return nil
}

// checkSeal compares the files of a member with its seal, if one exists.
func checkSeal(ctx context.Context, dir, member string) (sealed bool, err error) {
	name := filepath.Join(dir, sealName)
	wanted, err := readSeal(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	found, err := sumFiles(ctx, member)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true, err
	}
	for _, file := range slices.Sorted(maps.Keys(wanted)) {
		path := filepath.Join(member, file)
		switch sum, ok := found[file]; {
		case !ok:
			return true, fmt.Errorf("%w: there is no %s", errSeal, path)
		case sum != wanted[file]:
			return true, fmt.Errorf("%w: %s is not as it was left (if it was changed on purpose, remove %s)", errSeal, path,
				name)
		}
	}
	return true, nil
}

// readSeal reads a seal. A damaged seal is an error, because the other files may be damaged, too.
func readSeal(name string) (sums, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	out := sums{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var sum uint32
		var size int64
		var path string
		if _, err := fmt.Sscanf(lines.Text(), "%08x %d %s", &sum, &size, &path); err != nil || !filepath.IsLocal(path) {
			return nil, fmt.Errorf("%w: %s cannot be read", errSeal, name)
		}
		out[path] = fmt.Sprintf("%08x %d", sum, size)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: %s is empty", errSeal, name)
	}
	return out, nil
}

// breakSeal removes the seal durably, before the member changes its files.
func breakSeal(dir string) error {
	if err := os.Remove(filepath.Join(dir, sealName)); err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	file, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	defer file.Close()
	if err := file.Sync(); err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	return nil
}
