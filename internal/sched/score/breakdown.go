package score

import "slices"

// NodeScores is a node with its scores by preference.
type NodeScores struct {
	Node   string
	Scores []PreferenceScore
}

// PreferenceScore is the rating of a node by one preference. For a preference of the pod's author,
// Value is 0 to Most and more is better; for the others Most is 0 and less is better.
type PreferenceScore struct {
	Preference string
	Value      float64
	Most       float64
}

// Breakdown returns the best nodes of a ranking, at most n, with the scores of the preferences that
// apply. The ranking is the last one that Rank returned for this Input.
func (in *Input) Breakdown(r *Ranking, n int) []NodeScores {
	nodes := make([]NodeScores, min(n, r.Len()))
	for i := range nodes {
		nodes[i].Node = r.At(i).Name
	}
	for i := range preferences {
		p := &preferences[i]
		if p.applies != nil && !p.applies(in) {
			continue
		}
		values := p.values(in, r)
		for j := range nodes {
			if values != nil {
				nodes[j].Scores = append(nodes[j].Scores, PreferenceScore{p.name, values[r.returned[j]], p.best()})
			}
		}
	}
	return nodes
}

// best returns the best score of a preference of the pod's author, or 0.
func (p *preference) best() float64 {
	if p.level != levelAuthor {
		return 0
	}
	return float64(p.weight * fullScore)
}

// values returns the scores of all candidates of a ranking, or nil if the preference makes no
// difference between them.
func (p *preference) values(in *Input, r *Ranking) []float64 {
	values := make([]float64, len(r.list))
	switch {
	case p.sum != nil:
		if len(r.list) < 2 {
			return nil
		}
		raw := make([]int64, len(r.list))
		normal := p.sum(in, slices.Clone(r.list), raw)
		if normal == nil {
			return nil
		}
		for i := range values {
			values[i] = float64(p.weight * normal(raw[i]))
		}
	case p.node != nil:
		for i := range values {
			values[i] = p.node(in, r.list[i].Node)
		}
	case p.level == levelDevices:
		for i := range values {
			values[i] = float64(r.list[i].Devices)
		}
	case p.level == levelSiblings:
		if len(in.Siblings) == 0 {
			return nil
		}
		for i := range values {
			values[i] = r.list[i].siblings
		}
	}
	return values
}
