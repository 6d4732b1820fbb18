package tree

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/model"
)

// likeness finds out which groups are interchangeable.
type likeness struct {
	state *model.State
	known map[*model.Tree]string
}

func (l *likeness) alike(a, b *model.Tree) bool { return l.signature(a) == l.signature(b) }

// ordered returns children with those that are alike next to each other, the largest first.
func (l *likeness) ordered(children []*model.Tree) []*model.Tree {
	sorted := slices.Clone(children)
	slices.SortStableFunc(sorted, func(a, b *model.Tree) int {
		if x, y := a.Need(), b.Need(); x != y {
			return y - x
		}
		return strings.Compare(l.signature(a), l.signature(b))
	})
	return sorted
}

// signature returns a text that is equal for groups that are interchangeable.
func (l *likeness) signature(t *model.Tree) string {
	text, ok := l.known[t]
	if ok {
		return text
	}
	if t.Group != nil {
		text = l.leafSignature(t)
	} else {
		texts := make([]string, 0, len(t.Children))
		for _, child := range t.Children {
			texts = append(texts, l.signature(child))
		}
		slices.Sort(texts)
		text = fmt.Sprintf("%d %q %v(%s)", t.Min(), t.Topology(), t.IsPlaced(), strings.Join(texts, ","))
	}
	l.known[t] = text
	return text
}

// leafSignature describes a PodGroup by its pods. One with bound pods is like no other.
func (l *likeness) leafSignature(t *model.Tree) string {
	if t.Census.Bound > 0 {
		return "bound " + t.Key().String()
	}
	pods := map[string]int{}
	claims := map[model.Key]string{}
	for _, pod := range l.state.Groups.Members(t.Group.Key) {
		if pod.Ready() {
			pods[l.podSignature(pod, claims)]++
		}
	}
	counts, err := json.Marshal(pods) // sorted by key
	if err != nil {
		return t.Key().String()
	}
	return fmt.Sprintf("%d %d %q %q %s", t.Min(), t.Need(), t.Topology(), t.Problem, counts)
}

// podSignature describes what decides where a pod can go. claims has the texts of claims that are
// known.
func (l *likeness) podSignature(pod *model.Pod, claims map[model.Key]string) string {
	var b strings.Builder
	b.WriteString(pod.Shape.ID)
	if l.state.Terms.Any() || len(pod.Mounts) > 0 {
		b.WriteString(" " + pod.Key.String()) // others may prefer or avoid it
	}
	for i := range pod.Claims {
		key := model.Key{Namespace: pod.Key.Namespace, Name: pod.Claims[i].Claim}
		if claims[key] == "" {
			claims[key] = l.claimSignature(key)
		}
		fmt.Fprintf(&b, " %s %d", claims[key], len(pod.Claims[i].Containers))
	}
	return b.String()
}

// claimSignature describes what a claim requests. One that has devices is like no other.
func (l *likeness) claimSignature(key model.Key) string {
	claim, ok := l.state.Claims.Get(key)
	if !ok || claim.Allocation != nil || len(claim.Consumers) > 0 {
		return key.String()
	}
	text, err := json.Marshal([]any{claim.Requests, claim.Constraints, claim.ReservedFor})
	if err != nil {
		return key.String()
	}
	return string(text)
}
