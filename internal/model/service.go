package model

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// ServiceStore holds the Services and counts the pods that they select. A count is made when it is
// first read.
type ServiceStore struct {
	services map[string]map[string]*Service       // by namespace and name
	counts   map[string]map[string]*selectedCount // by namespace and selector
	state    *State
	log      *undoLog
}

// Service selects pods of its namespace that should be spread.
type Service struct {
	Key      Key
	UID      types.UID
	Version  uint64
	Selector labels.Set // empty: selects no pods
}

// ServiceFrom converts a Service.
func ServiceFrom(service *corev1.Service) *Service {
	return &Service{Key: KeyOf(service), UID: service.UID, Version: versionOf(service), Selector: service.Spec.Selector}
}

// selectedCount counts the pods on nodes that match a selector, except pods that are being deleted.
type selectedCount struct {
	selector labels.Set
	byNode   map[*NodeInfo]int
}

// maxSelected is the maximum number of counts of a namespace; if there are more, all are dropped.
const maxSelected = 256

func newServiceStore(s *State) ServiceStore {
	return ServiceStore{
		services: map[string]map[string]*Service{},
		counts:   map[string]map[string]*selectedCount{},
		state:    s,
		log:      &s.log,
	}
}

// ServedWith returns, for each node that has any, the number of pods that match the selectors of
// all Services that select the shape; nil if no Service selects it. The map must not be changed.
func (s *ServiceStore) ServedWith(shape *Shape) map[*NodeInfo]int {
	var merged labels.Set
	for _, service := range s.services[shape.Namespace] {
		if selects(service.Selector, shape.Labels) {
			merged = labels.Merge(merged, service.Selector)
		}
	}
	if len(merged) == 0 {
		return nil
	}
	counts, id := s.counts[shape.Namespace], merged.String()
	if known, ok := counts[id]; ok {
		return known.byNode
	}
	if counts == nil || len(counts) >= maxSelected {
		counts = map[string]*selectedCount{}
		s.counts[shape.Namespace] = counts
	}
	counts[id] = s.countSelected(shape.Namespace, merged)
	return counts[id].byNode
}

func (s *ServiceStore) countSelected(namespace string, selector labels.Set) *selectedCount {
	count := &selectedCount{selector: selector, byNode: map[*NodeInfo]int{}}
	for _, info := range s.state.Nodes.byName {
		for _, pod := range info.Pods {
			if pod.Key.Namespace == namespace {
				count.change(info, pod, 1)
			}
		}
	}
	return count
}

func selects(selector, of labels.Set) bool {
	for key, value := range selector {
		if have, ok := of[key]; !ok || have != value {
			return false
		}
	}
	return len(selector) > 0
}

func (c *selectedCount) change(info *NodeInfo, pod *Pod, by int) {
	if pod.Deleting || !selects(c.selector, pod.Shape.Labels) {
		return
	}
	if c.byNode[info] += by; c.byNode[info] == 0 {
		delete(c.byNode, info)
	}
}

// count adds by for a pod that is added to its node, or removed from it.
func (s *ServiceStore) count(info *NodeInfo, pod *Pod, by int) {
	for _, count := range s.counts[pod.Key.Namespace] {
		count.change(info, pod, by)
	}
}

// Put adds or replaces a Service. It wakes no unit.
func (s *ServiceStore) Put(service *Service) []Topic {
	old := s.services[service.Key.Namespace][service.Key.Name]
	if old == nil || !outdated(old.UID, service.UID, old.Version, service.Version) {
		s.set(service.Key, service)
	}
	return nil
}

// Delete removes a Service.
func (s *ServiceStore) Delete(key Key) []Topic {
	if _, ok := s.services[key.Namespace][key.Name]; ok {
		s.set(key, nil)
	}
	return nil
}

func (s *ServiceStore) set(key Key, service *Service) {
	in := s.services[key.Namespace]
	old := in[key.Name]
	s.log.record(func() { s.set(key, old) })
	if in == nil {
		in = map[string]*Service{}
		s.services[key.Namespace] = in
	}
	if service == nil {
		delete(in, key.Name)
	} else {
		in[key.Name] = service
	}
	if len(in) == 0 {
		delete(s.services, key.Namespace)
	}
	delete(s.counts, key.Namespace) // some of them will not be read any more
}

// audit recomputes the counts, which no dump shows because they depend on earlier look-ups.
func (s *ServiceStore) audit() error {
	for namespace, counts := range s.counts {
		for id, count := range counts {
			if want := s.countSelected(namespace, count.selector).byNode; !maps.Equal(count.byNode, want) {
				return fmt.Errorf("state has drifted: pods in %s with %s are %v, should be %v", namespace, id,
					byNodeName(count.byNode), byNodeName(want))
			}
		}
	}
	return nil
}

// all returns the Services, by namespace and name.
func (s *ServiceStore) all() []*Service {
	var list []*Service
	for _, namespace := range slices.Sorted(maps.Keys(s.services)) {
		for _, name := range slices.Sorted(maps.Keys(s.services[namespace])) {
			list = append(list, s.services[namespace][name])
		}
	}
	return list
}
