package alloc

import (
	"encoding/json"
	"fmt"

	"github.com/allot-dev/allot/internal/model"
)

// traits holds the properties of devices that become part of an allocation. Devices with different
// traits are not interchangeable.
type traits struct {
	idOf                 []int // number of the trait by device; equal traits have the same number; 0 means none
	hasBindingConditions []bool
}

// traitsOf returns the traits of a pool, or nil if no device has any.
func traitsOf(pool *model.Pool) *traits {
	if !pool.Any(hasTraits) {
		return nil
	}
	t := &traits{idOf: make([]int, len(pool.Devices)), hasBindingConditions: make([]bool, len(pool.Devices))}
	known := map[string]int{"": 0}
	for i := range pool.Devices {
		key := traitsKey(&pool.Devices[i])
		if key == "" {
			continue
		}
		id, ok := known[key]
		if !ok {
			id = len(known)
			known[key] = id
		}
		t.idOf[i], t.hasBindingConditions[i] = id, len(pool.Devices[i].BindingConditions) > 0
	}
	return t
}

func hasTraits(u *model.Usage) bool {
	return u.BindsToNode || len(u.BindingConditions)+len(u.BindingFailureConditions)+len(u.NodeResources) > 0
}

func traitsKey(device *model.Device) string {
	if !hasTraits(device.Usage) {
		return ""
	}
	// The encoding sorts maps by key and has one form for each quantity.
	draws, err := json.Marshal(device.NodeResources)
	if err != nil {
		panic(fmt.Sprintf("alloc: encode node resources: %v", err))
	}
	return fmt.Sprintf("%v %q %q %s", device.BindsToNode, device.BindingConditions, device.BindingFailureConditions, draws)
}

// traitOf returns the traits of a device, and whether it has binding conditions.
func (t *traits) traitOf(device int) (id int, waits bool) {
	if t == nil {
		return 0, false
	}
	return t.idOf[device], t.hasBindingConditions[device]
}
