package scheduler

import (
	"time"

	"github.com/allot-dev/allot/internal/model"
)

// quarantine has the devices that are not allocated for a while.
type quarantine struct {
	*loop
	until map[model.DeviceID]time.Time
}

// avoidFor is the time for which a device is not allocated after it did not become ready: long
// enough to try others first, and shorter than the time for which tests and people wait for the
// only one.
const avoidFor = 30 * time.Second

// add puts devices into quarantine for avoidFor.
func (q *quarantine) add(devices []model.DeviceID) {
	for _, id := range devices {
		until := q.clock.Now().Add(avoidFor)
		q.until[id] = until
		q.state.Devices.Quarantine(id)
		q.runAfter(avoidFor, func() []model.Topic {
			if !q.until[id].Equal(until) {
				return nil // it failed again meanwhile
			}
			delete(q.until, id)
			return q.state.Devices.EndQuarantine(id)
		})
	}
}
