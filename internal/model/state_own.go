package model

// OwnAllocated is how many claims with devices, by what the API says, members of a group use otherwise than through it: each
// as often as it is used.
func (s *State) OwnAllocated(group Key) int {
	entry, ok := s.groups[group]
	if !ok {
		return 0
	}
	return entry.own
}

// countOwn counts the claims of a pod that becomes a member of the group, or is none any more.
func (s *State) countOwn(entry *groupEntry, pod *Pod, by int) {
	for name := range pod.ownClaims {
		key := Key{Namespace: pod.Key.Namespace, Name: name}
		users := s.ownUsers[key]
		if users == nil {
			users = map[*groupEntry]int{}
			s.ownUsers[key] = users
		}
		if users[entry] += by; users[entry] == 0 {
			delete(users, entry)
		}
		if len(users) == 0 {
			delete(s.ownUsers, key)
		}
		if s.claims[key].allocated() {
			entry.own += by
		}
	}
}

// ownClaims are those of ClaimNames that the pod uses otherwise than through its group.
func (p *Pod) ownClaims(yield func(string) bool) {
	for i := range p.Claims {
		if use := &p.Claims[i]; use.Claim != "" && !use.Group && !yield(use.Claim) {
			return
		}
	}
	if p.Extended != "" {
		yield(p.Extended)
	}
}

// recountOwn counts a claim that gets devices, or loses them, for the groups of those who use it.
func (s *State) recountOwn(key Key, old, now *claimEntry) {
	was, is := old.allocated(), now.allocated()
	if was == is {
		return
	}
	by := 1
	if was {
		by = -1
	}
	for entry, uses := range s.ownUsers[key] {
		entry.own += by * uses
	}
}

func (e *claimEntry) allocated() bool {
	return e != nil && e.observed != nil && e.observed.Allocation != nil
}

// sameUses says whether two versions of a pod share their list of claims, as when it is but assumed to be on a node.
func sameUses(a, b *Pod) bool {
	return a.Extended == b.Extended && len(a.Claims) == len(b.Claims) && (len(a.Claims) == 0 || &a.Claims[0] == &b.Claims[0])
}
