package etcd

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// inspect returns an error for files that would prevent the member from starting or make it lose
// data. Without this check, the member would panic or hang.
func inspect(member string) error {
	log, err := readLog(filepath.Join(member, "wal"))
	if err != nil {
		return err
	}
	name := filepath.Join(member, "snap", "db")
	db, err := readDatabase(name)
	switch {
	case errors.Is(err, errBolt):
		return fmt.Errorf("%w (%s)", err, name)
	case errors.Is(err, fs.ErrNotExist):
		if log.last > 0 && log.commit > 0 {
			return fmt.Errorf("%w: there is no %s", errBolt, name)
		}
		return nil
	case err != nil:
		return err
	}
	switch {
	// An interrupted first start leaves an empty database and no log.
	case !log.exists && db.applied > 0:
		return fmt.Errorf("%w: there is none in %s", errLog, filepath.Join(member, "wal"))
	case log.last < db.applied:
		return fmt.Errorf("%w: it ends at entry %d, and the database has those up to %d", errLog, log.last, db.applied)
	case log.exists && log.last < log.commit:
		return fmt.Errorf("%w: it ends at entry %d, and those up to %d have been written", errLog, log.last, log.commit)
	}
	return nil
}
