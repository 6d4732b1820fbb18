package preempt

import "slices"

// estimate sets the cost of preemption at a site as far as counting can tell, and reports whether
// the victims there could be sufficient.
func (e *estimator) estimate(site *victimSite) bool {
	p := e.preemptor
	c := e.newSiteEstimate(site.nodes)
	victims := site.victims
	if c.missing == 0 {
		victims = slices.Values(site.here)
	}
	if p.pool.guarded {
		marked := slices.Collect(victims)
		p.budgets.markViolations(marked)
		victims = slices.Values(marked)
	}
	var evicted []*victim
	ok := c.isEnough()
	for v := range victims {
		if ok {
			break
		}
		c.evict(v)
		evicted = append(evicted, v)
		ok = c.isEnough()
	}
	for i := len(evicted) - 1; i >= 0 && ok; i-- { // the most important first, as in reprieve
		c.putBack(evicted[i])
		if c.isEnough() {
			evicted = slices.Delete(evicted, i, i+1)
		} else {
			c.evict(evicted[i])
		}
	}
	for _, v := range evicted {
		c.putBack(v)
	}
	p.stepsLeft -= len(evicted) / victimsPerStep
	site.estimate = p.budgets.costOf(evicted)
	return ok
}
