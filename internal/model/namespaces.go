package model

import "k8s.io/apimachinery/pkg/labels"

// NamespaceStore holds the labels of namespaces, which pod affinity can select by.
type NamespaceStore struct {
	labels map[string]labels.Set
	state  *State
	log    *undoLog
}

func newNamespaceStore(s *State) NamespaceStore {
	return NamespaceStore{labels: map[string]labels.Set{}, state: s, log: &s.log}
}

// Put records a namespace's labels, which pod affinity can select by; nil removes the namespace.
func (s *NamespaceStore) Put(name string, set map[string]string) []Topic {
	old := s.labels[name]
	if set != nil && old != nil && labels.Equals(old, set) {
		return nil
	}
	s.set(name, set)
	return []Topic{{Kind: TopicPods}}
}

func (s *NamespaceStore) set(name string, set labels.Set) {
	old := s.labels[name]
	s.log.record(func() { s.set(name, old) })
	if set == nil {
		delete(s.labels, name)
	} else {
		s.labels[name] = set
	}
	s.state.Terms.recount()
}

// Labels returns the labels of a namespace, for Term.Matches.
func (s *NamespaceStore) Labels(name string) labels.Set { return s.labels[name] }
