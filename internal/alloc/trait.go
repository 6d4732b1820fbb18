package alloc

import (
	"encoding/json"
	"fmt"

	"github.com/allot-dev/allot/internal/model"
)

// traits are what an allocation of a device says beyond its name: devices with other traits are not alike.
type traits struct {
	of    []int // by device; devices with equal traits have the same number, those without any have 0
	waits []bool
}

// traitsOf reads a pool's traits; nil if no device has any.
func traitsOf(pool *model.Pool) *traits {
	if !pool.Any(hasTraits) {
		return nil
	}
	t := &traits{of: make([]int, len(pool.Devices)), waits: make([]bool, len(pool.Devices))}
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
		t.of[i], t.waits[i] = id, len(pool.Devices[i].BindingConditions) > 0
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
	// The encoding orders maps by key, and writes quantities in one way.
	draws, err := json.Marshal(device.NodeResources)
	if err != nil {
		panic(fmt.Sprintf("alloc: encode node resources: %v", err))
	}
	return fmt.Sprintf("%v %q %q %s", device.BindsToNode, device.BindingConditions, device.BindingFailureConditions, draws)
}

// at are the traits of one device, and whether something has to be done for it before a pod can use it.
func (t *traits) at(device int) (id int, waits bool) {
	if t == nil {
		return 0, false
	}
	return t.of[device], t.waits[device]
}
