package forecast

import (
	"fmt"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/controller/devicetaint"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/model"
)

// taintKey is the key of the taints of Changes.
const taintKey = "plan.allot.dev/tainted"

// taintDevice taints a device by a DeviceTaintRule.
func (s *simulation) taintDevice(t DeviceTaint) error {
	id, err := s.device(t.Device)
	if err != nil {
		return fmt.Errorf("taint device: %w", err)
	}
	at := metav1.NewTime(s.past)
	rule := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{GenerateName: "planned-"}}
	rule.Spec.DeviceSelector = &resourcev1.DeviceTaintSelector{Driver: &id.Driver, Pool: &id.Pool, Device: &id.Device}
	rule.Spec.Taint = resourcev1.DeviceTaint{Key: taintKey, Effect: t.Effect, TimeAdded: &at}
	return s.create(rule)
}

// device returns the device that a person means by DRIVER/POOL/DEVICE or the last parts of that.
func (s *simulation) device(name string) (model.DeviceID, error) {
	var found []model.DeviceID
	for _, slice := range s.world.Slices.List() {
		for i := range slice.Spec.Devices {
			id := model.DeviceID{Driver: slice.Spec.Driver, Pool: slice.Spec.Pool.Name, Device: slice.Spec.Devices[i].Name}
			if id.String() == name {
				return id, nil
			}
			if strings.HasSuffix(id.String(), "/"+name) {
				found = append(found, id)
			}
		}
	}
	switch len(found) {
	case 0:
		return model.DeviceID{}, fmt.Errorf("device %s is not published", name)
	case 1:
		return found[0], nil
	}
	return model.DeviceID{}, fmt.Errorf("device %s is published %d times: %s, %s…; write DRIVER/POOL/DEVICE", name,
		len(found), found[0], found[1])
}

// evictTainted evicts the pods that may not use their devices any more. It reports whether it
// evicted any.
func (s *simulation) evictTainted() bool {
	if !s.tainted || !s.world.Features.On(features.DeviceTaints) {
		return false
	}
	s.tainted = false
	sources := devicetaint.Sources{Claim: s.world.Claims.Get, Slices: s.poolSlices(), Rules: s.world.TaintRules.List()}
	evicted := false
	for _, pod := range s.world.Pods.List() {
		if pod.Spec.NodeName == "" || pod.Finished() || pod.DeletionTimestamp != nil {
			continue
		}
		if causes := sources.Causes(pod); causes != "" {
			s.end(pod, Evict, "its device has a taint that it does not tolerate: "+causes)
			evicted = true
		}
	}
	return evicted
}

// poolSlices finds the slices of a pool.
func (s *simulation) poolSlices() func(driver, pool string) []*resourcev1.ResourceSlice {
	type key struct{ driver, pool string }
	pools := map[key][]*resourcev1.ResourceSlice{}
	for _, slice := range s.world.Slices.List() {
		k := key{slice.Spec.Driver, slice.Spec.Pool.Name}
		pools[k] = append(pools[k], slice)
	}
	return func(driver, pool string) []*resourcev1.ResourceSlice { return pools[key{driver, pool}] }
}
