package placement

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// deadEnds has the trials from which a backtracker found no solution. Trials are equal if pods that
// take the same from a node are on the same nodes, and the same devices are taken: which of the
// pods has which devices, and in which order they were placed, does not matter for the others.
type deadEnds struct {
	known  map[string]bool
	ids    map[string]int // numbers of what a member can take, by description
	taken  []int          // numbers of what the members of the trial have taken, in ascending order
	buffer []byte
}

func newDeadEnds() *deadEnds {
	return &deadEnds{known: map[string]bool{}, ids: map[string]int{}}
}

// take records that a member of the cursor takes a place on a node and devices, and returns what
// was taken before.
func (d *deadEnds) take(t *classCursor, node string, choice alloc.Choice) (before []int) {
	before = d.taken
	d.taken = slices.Clone(d.taken)
	d.add(fmt.Sprintf("pod %d on %s", t.usage, node))
	for _, allocation := range choice {
		for i := range allocation.Devices {
			device := allocation.Devices[i]
			admin := device.AdminAccess != nil && *device.AdminAccess
			d.add(fmt.Sprint("device ", model.DeviceIDOf(device), admin, device.ConsumedCapacity))
		}
	}
	return before
}

func (d *deadEnds) add(description string) {
	id, known := d.ids[description]
	if !known {
		id = len(d.ids)
		d.ids[description] = id
	}
	at, _ := slices.BinarySearch(d.taken, id)
	d.taken = slices.Insert(d.taken, at, id)
}

// key returns a string that is equal for equal trials at the same position of the search.
func (d *deadEnds) key(position ...int) string {
	key := d.buffer[:0]
	for _, n := range position {
		key = binary.AppendUvarint(key, uint64(n))
	}
	for _, id := range d.taken {
		key = binary.AppendUvarint(key, uint64(id))
	}
	d.buffer = key
	return string(key)
}

// takesLike reports whether pods of two classes take the same from a node, apart from devices.
func takesLike(a, b *podClass) bool {
	return a.fitter.Shape.ID == b.fitter.Shape.ID && maps.Equal(a.fitter.Shape.Labels, b.fitter.Shape.Labels) &&
		len(a.mounts) == 0 && len(b.mounts) == 0 && slices.Equal(a.claims, b.claims)
}
