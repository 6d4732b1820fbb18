package plugins

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/google/renameio/v2"
	"k8s.io/apimachinery/pkg/types"
)

// recordVersion is the version of the format of the file.
const recordVersion = 1

// records are the records of one node. They are not safe for concurrent use.
type records struct {
	file string
	// drivers are the drivers of which a plugin has registered on the node.
	drivers map[string]bool
	claims  map[types.NamespacedName]*record
}

// content is the content of the file.
type content struct {
	Version int       `json:"version"`
	Drivers []string  `json:"drivers,omitempty"`
	Claims  []*record `json:"claims,omitempty"`
}

// readRecords reads the file, which need not exist.
func readRecords(file string) (*records, error) {
	r := &records{file: file, drivers: map[string]bool{}, claims: map[types.NamespacedName]*record{}}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("records of prepared claims: %w", err)
	}
	var c content
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w); delete it if no driver holds devices of the node any more", file, err)
	}
	if c.Version != recordVersion {
		return nil, fmt.Errorf("%s has version %d, and this program knows version %d", file, c.Version, recordVersion)
	}
	for _, driver := range c.Drivers {
		r.drivers[driver] = true
	}
	for _, claim := range c.Claims {
		if claim.Pods == nil {
			claim.Pods = map[types.UID]string{}
		}
		if claim.Drivers == nil {
			claim.Drivers = map[string][]Device{}
		}
		r.claims[claim.key()] = claim
	}
	return r, nil
}

// save writes the file. A reader, or the next process, sees the old content or the new one.
func (r *records) save() error {
	c := content{Version: recordVersion, Drivers: slices.Sorted(maps.Keys(r.drivers)), Claims: r.sorted()}
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("records of prepared claims: %w", err)
	}
	if err := renameio.WriteFile(r.file, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("records of prepared claims: %w", err)
	}
	return nil
}

func (r *records) sorted() []*record {
	return slices.SortedFunc(maps.Values(r.claims), func(a, b *record) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// usedBy returns the records of the claims that the pod uses.
func (r *records) usedBy(pod types.UID) []*record {
	return slices.DeleteFunc(r.sorted(), func(claim *record) bool {
		_, uses := claim.Pods[pod]
		return !uses
	})
}
