package alloc

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/allot-dev/allot/internal/model"
)

// maxConfig is how many configuration entries an allocation can have: as many as a class and a claim can have together.
// Several classes can have more.
const maxConfig = 2 * resourcev1.DeviceConfigMaxSize

// config returns what the drivers are told, in the order of Kubernetes: first the entries of each class, once, with the
// requests that the class serves; then those of the claim, which may override them. Entries of the claim that are only for
// alternatives that were not taken are left out. An entry for all requests names none.
func (s *search) config(claim int) []resourcev1.DeviceAllocationConfiguration {
	served := s.served(claim)
	var list []resourcev1.DeviceAllocationConfiguration
	for i := range served {
		if served.ofClass(i) == nil {
			continue
		}
		for _, config := range served[i].class.Config {
			list = append(list, resourcev1.DeviceAllocationConfiguration{
				Source:              resourcev1.AllocationConfigSourceClass,
				Requests:            served.namesUnlessAll(served.ofClass(i)),
				DeviceConfiguration: config,
			})
		}
	}
	for _, config := range s.board.problem.claims[claim].Config {
		if served.concernedBy(config.Requests) {
			list = append(list, resourcev1.DeviceAllocationConfiguration{
				Source:              resourcev1.AllocationConfigSourceClaim,
				Requests:            served.namesUnlessAll(config.Requests),
				DeviceConfiguration: config.DeviceConfiguration,
			})
		}
	}
	return list
}

// configurable reports whether the entries for the chosen alternatives fit into the claims' allocations.
func (s *search) configurable() bool {
	return !s.board.problem.hasManyConfigs || !slices.ContainsFunc(s.configCounts(), func(n int) bool { return n > maxConfig })
}

// configCounts returns how many entries the allocation of each claim has.
func (s *search) configCounts() []int {
	counts := make([]int, len(s.board.problem.claims))
	for c := range counts {
		counts[c] = s.served(c).configCount(s.board.problem.claims[c])
	}
	return counts
}

// servedRequest is a request of a claim with the alternative that serves it.
type servedRequest struct {
	request string
	name    string // in results
	class   *model.Class
}

type servedRequests []servedRequest

// served returns the requests of a claim whose alternative is chosen, in their order.
func (s *search) served(claim int) servedRequests {
	p := s.board.problem
	var list servedRequests
	for w := range p.wants {
		if p.wants[w].claim == claim && s.chosen[w] >= 0 {
			list = append(list, p.served(w, s.chosen[w]))
		}
	}
	return list
}

func (p *Problem) served(w, option int) servedRequest {
	want := &p.wants[w]
	return servedRequest{
		request: p.claims[want.claim].Requests[want.request].Name,
		name:    want.options[option].name,
		class:   want.options[option].class,
	}
}

// ofClass returns the names of all requests that have the class of the i-th one; nil if an earlier one has it.
func (list servedRequests) ofClass(i int) []string {
	var names []string
	for k := range list {
		if list[k].class != list[i].class {
			continue
		}
		if k < i {
			return nil
		}
		names = append(names, list[k].name)
	}
	return names
}

// concernedBy reports whether an entry of the claim for these requests is for any of the list. Without names, it is.
func (list servedRequests) concernedBy(requests []string) bool {
	return len(requests) == 0 || slices.ContainsFunc(list, func(r servedRequest) bool { return r.isIn(requests) })
}

func (r *servedRequest) isIn(requests []string) bool {
	return slices.Contains(requests, r.request) || slices.Contains(requests, r.name)
}

// namesUnlessAll returns the names, or nil if they are those of all requests.
func (list servedRequests) namesUnlessAll(names []string) []string {
	if slices.ContainsFunc(list, func(r servedRequest) bool { return !r.isIn(names) }) {
		return names
	}
	return nil
}

func (list servedRequests) configCount(claim *model.Claim) int {
	n := 0
	for i := range list {
		if list.ofClass(i) != nil {
			n += len(list[i].class.Config)
		}
	}
	for i := range claim.Config {
		if list.concernedBy(claim.Config[i].Requests) {
			n++
		}
	}
	return n
}

// tooMuchConfig returns the reason if the requests without alternatives alone need more configuration entries than an
// allocation can have.
func (p *Problem) tooMuchConfig(c int) *Reason {
	var sure, all servedRequests
	reason := &Reason{Kind: TooMany}
	for w := range p.wants {
		if p.wants[w].claim != c {
			continue
		}
		for o := range p.wants[w].options {
			all = append(all, p.served(w, o))
		}
		if len(p.wants[w].options) == 1 {
			sure = append(sure, all[len(all)-1])
			reason.Asked = append(reason.Asked, p.asked(w))
		}
	}
	if all.configCount(p.claims[c]) <= maxConfig {
		return nil
	}
	p.hasManyConfigs = true
	if reason.Config = sure.configCount(p.claims[c]); len(sure) == 0 || reason.Config <= maxConfig {
		return nil
	}
	return reason
}
