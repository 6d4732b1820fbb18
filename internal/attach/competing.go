package attach

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
)

// CompetingScheduler is another scheduler that places pods with claims.
type CompetingScheduler struct {
	// Scheduler is the spec.schedulerName of its pods.
	Scheduler string
	// Pods is the number of its unfinished pods with claims.
	Pods int
	// Drivers lists the drivers of the devices that it has allocated, sorted.
	Drivers []string
}

func (s *CompetingScheduler) String() string {
	text := fmt.Sprintf("scheduler %s places %d pods with claims", s.Scheduler, s.Pods)
	if len(s.Drivers) > 0 {
		text += ", and has given out devices of " + strings.Join(s.Drivers, ", ")
	}
	return text
}

// CompetingSchedulers returns the other schedulers that allocate devices, according to pods and
// claims, sorted by name. own is the name of this scheduler.
func CompetingSchedulers(own string, pods []*core.Pod, claims []*resource.ResourceClaim) []CompetingScheduler {
	found := map[string]*CompetingScheduler{}
	drivers := driversOf(claims)
	used := map[string]map[string]bool{}
	for _, pod := range pods {
		if pod.Spec.SchedulerName == own || len(pod.Spec.ResourceClaims) == 0 || pod.Finished() {
			continue
		}
		name := pod.Spec.SchedulerName
		if found[name] == nil {
			found[name], used[name] = &CompetingScheduler{Scheduler: name}, map[string]bool{}
		}
		found[name].Pods++
		maps.Copy(used[name], drivers[string(pod.UID)])
	}
	var out []CompetingScheduler
	for _, name := range slices.Sorted(maps.Keys(found)) {
		found[name].Drivers = slices.Sorted(maps.Keys(used[name]))
		out = append(out, *found[name])
	}
	return out
}

// driversOf returns the drivers of devices allocated for consumers, by consumer UID.
func driversOf(claims []*resource.ResourceClaim) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, claim := range claims {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, consumer := range claim.Status.ReservedFor {
			uid := string(consumer.UID)
			if out[uid] == nil {
				out[uid] = map[string]bool{}
			}
			for i := range claim.Status.Allocation.Devices.Results {
				out[uid][claim.Status.Allocation.Devices.Results[i].Driver] = true
			}
		}
	}
	return out
}
