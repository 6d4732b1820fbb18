package alloc

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/allot-dev/allot/internal/model"
)

// maxConfig is the maximum number of configuration entries in an allocation: those of one class and
// of the claim. Requests for several classes can exceed it.
const maxConfig = 2 * resourcev1.DeviceConfigMaxSize

// config returns the configuration for the drivers, in the order of kube-scheduler: first the
// entries of each class, once, with the requests served by the class; then the entries of the
// claim, which may override them. Entries that apply only to alternatives that were not chosen are
// omitted. An entry for all requests lists none.
func (d *decisions) config(claim int) []resourcev1.DeviceAllocationConfiguration {
	served := d.served(claim)
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
	for _, config := range d.offer.problem.claims[claim].Config {
		if served.appliesTo(config.Requests) {
			list = append(list, resourcev1.DeviceAllocationConfiguration{
				Source:              resourcev1.AllocationConfigSourceClaim,
				Requests:            served.namesUnlessAll(config.Requests),
				DeviceConfiguration: config.DeviceConfiguration,
			})
		}
	}
	return list
}

// configFits reports whether the configuration of the chosen alternatives fits into each
// allocation.
func (d *decisions) configFits() bool {
	return !d.offer.problem.mayExceedConfig ||
		!slices.ContainsFunc(d.configCounts(), func(n int) bool { return n > maxConfig })
}

// configCounts returns the number of configuration entries for each claim.
func (d *decisions) configCounts() []int {
	counts := make([]int, len(d.offer.problem.claims))
	for c := range counts {
		counts[c] = d.served(c).configCount(d.offer.problem.claims[c])
	}
	return counts
}

// servedRequest is a request of a claim with its chosen alternative.
type servedRequest struct {
	request string
	name    string // name in allocation results
	class   *model.Class
}

type servedRequests []servedRequest

// served returns the requests of a claim with a chosen alternative, in the order of the claim.
func (d *decisions) served(claim int) servedRequests {
	p := d.offer.problem
	var list servedRequests
	for w := range p.requests {
		if p.requests[w].claim == claim && d.chosen[w] >= 0 {
			list = append(list, p.servedBy(w, d.chosen[w]))
		}
	}
	return list
}

func (p *Problem) servedBy(w, alternative int) servedRequest {
	request := &p.requests[w]
	return servedRequest{
		request: p.claims[request.claim].Requests[request.index].Name,
		name:    request.alternatives[alternative].resultName,
		class:   request.alternatives[alternative].class,
	}
}

// ofClass returns the names of all requests with the class of the i-th request, or nil if an
// earlier request has the same class.
func (s servedRequests) ofClass(i int) []string {
	var names []string
	for k := range s {
		if s[k].class != s[i].class {
			continue
		}
		if k < i {
			return nil
		}
		names = append(names, s[k].name)
	}
	return names
}

// appliesTo reports whether a configuration entry for these requests applies to a request of the
// list. An entry without requests applies to all.
func (s servedRequests) appliesTo(requests []string) bool {
	return len(requests) == 0 || slices.ContainsFunc(s, func(r servedRequest) bool { return r.isNamedIn(requests) })
}

func (r *servedRequest) isNamedIn(requests []string) bool {
	return slices.Contains(requests, r.request) || slices.Contains(requests, r.name)
}

// namesUnlessAll returns the names, or nil if they include all requests.
func (s servedRequests) namesUnlessAll(names []string) []string {
	if slices.ContainsFunc(s, func(r servedRequest) bool { return !r.isNamedIn(names) }) {
		return names
	}
	return nil
}

func (s servedRequests) configCount(claim *model.Claim) int {
	n := 0
	for i := range s {
		if s.ofClass(i) != nil {
			n += len(s[i].class.Config)
		}
	}
	for i := range claim.Config {
		if s.appliesTo(claim.Config[i].Requests) {
			n++
		}
	}
	return n
}

// checkConfigCount returns a reason if the requests without alternatives need more configuration
// entries than an allocation can have.
func (p *Problem) checkConfigCount(c int) *Reason {
	var sure, all servedRequests
	reason := &Reason{Kind: TooMany}
	for w := range p.requests {
		if p.requests[w].claim != c {
			continue
		}
		for o := range p.requests[w].alternatives {
			all = append(all, p.servedBy(w, o))
		}
		if len(p.requests[w].alternatives) == 1 {
			sure = append(sure, all[len(all)-1])
			reason.Requests = append(reason.Requests, p.requestRef(w))
		}
	}
	if all.configCount(p.claims[c]) <= maxConfig {
		return nil
	}
	p.mayExceedConfig = true
	if reason.ConfigEntries = sure.configCount(p.claims[c]); len(sure) == 0 || reason.ConfigEntries <= maxConfig {
		return nil
	}
	return reason
}
