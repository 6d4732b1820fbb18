package alloc

// impossibleClaim returns the reason why one of the claims of the offer could not be allocated on
// the node even if it were the only one, or nil if no such claim is found. Other claims only take
// devices, so such a claim decides the whole Problem. A search over all claims can spend its budget
// on the combinations of the claims before it.
func impossibleClaim(offer *NodeOffer) *Reason {
	p := offer.problem
	if len(p.claims) == 1 {
		return nil
	}
	for c := range p.claims {
		if c > 0 && p.isLikePrevious(c) {
			continue
		}
		single, reason := p.allocator.Prepare(p.state, p.claims[c:c+1], p.swappable)
		if reason != nil {
			return reason
		}
		single.budget, single.isTrialClaim = p.budget, p.isTrialClaim
		if _, reason := single.NodeOffer(offer.node); reason != nil {
			return reason
		}
	}
	return nil
}
