package model

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// ClassStore holds the DeviceClasses.
type ClassStore struct {
	byName map[string]*Class
	log    *undoLog
}

func newClassStore(log *undoLog) ClassStore {
	return ClassStore{byName: map[string]*Class{}, log: log}
}

// Offers returns the DeviceClass whose devices replace an extended resource: the class that the
// resource is named after, or a class with the resource in its spec. Of several the newest is used,
// and of these the first by name.
func (s *ClassStore) Offers(resource corev1.ResourceName) (*Class, bool) {
	if name, ok := strings.CutPrefix(string(resource), resourcev1.ResourceDeviceClassPrefix); ok {
		return s.Get(name)
	}
	var best *Class
	for _, class := range s.byName {
		if class.Extended != resource {
			continue
		}
		if best == nil || class.Created.After(best.Created.Time) ||
			class.Created.Equal(&best.Created) && class.Name < best.Name {
			best = class
		}
	}
	return best, best != nil
}

// OfferOf returns the topic of the class that offers a resource. No class has the name of a
// resource.
func OfferOf(resource corev1.ResourceName) Topic {
	return Topic{Kind: TopicClass, Key: Key{Name: string(resource)}}
}

// offerTopics returns the topics of the resources that two versions of a class offer; either
// version may be nil.
func offerTopics(old, now *Class) []Topic {
	var topics []Topic
	for _, c := range []*Class{old, now} {
		if c != nil && c.Extended != "" {
			topics = append(topics, OfferOf(c.Extended))
		}
	}
	if old == nil { // every class offers a resource that is named after it
		topics = append(topics, OfferOf(corev1.ResourceName(resourcev1.ResourceDeviceClassPrefix+now.Name)))
	}
	return topics
}

// OffersAny reports whether a DeviceClass offers any extended resource that the shape requests.
func (s *ClassStore) OffersAny(shape *Shape) bool {
	return slices.ContainsFunc(shape.ExtendedRequests, func(ask ExtendedRequest) bool {
		_, offered := s.Offers(ask.Resource)
		return offered
	})
}

// Get returns a DeviceClass.
func (s *ClassStore) Get(name string) (*Class, bool) {
	class, ok := s.byName[name]
	return class, ok
}

// List returns the DeviceClasses by name.
func (s *ClassStore) List() []*Class {
	return slices.SortedFunc(maps.Values(s.byName), func(a, b *Class) int { return strings.Compare(a.Name, b.Name) })
}

// Put adds or replaces a DeviceClass.
func (s *ClassStore) Put(class *Class) []Topic {
	old := s.byName[class.Name]
	if old != nil && outdated(old.UID, class.UID, old.Version, class.Version) {
		return nil
	}
	s.set(class.Name, class)
	if sameClass(old, class) {
		return nil
	}
	return append(
		[]Topic{{Kind: TopicClass, Key: Key{Name: class.Name}}, {Kind: TopicDevices}},
		offerTopics(old, class)...)
}

// Delete removes a DeviceClass. Another class may offer the same extended resource.
func (s *ClassStore) Delete(name string) []Topic {
	old, ok := s.byName[name]
	if !ok {
		return nil
	}
	s.set(name, nil)
	return offerTopics(old, nil)
}

func (s *ClassStore) set(name string, class *Class) {
	replace(s.log, s.byName, name, class)
}
