package tree

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/allot-dev/allot/internal/model"
)

// likeness finds out which groups are interchangeable.
type likeness struct {
	state        *model.State
	descriptions map[*model.Tree]string
	kinds        map[*model.Tree]int // different pods of a PodGroup
	// claims that differ from each other, of which the first ones are compared with others
	claims []claimKind
}

// claimKind is a set of claims with equal requests.
type claimKind struct {
	claim *model.Claim
	text  string
}

// maxClaimKinds is with how many claims another one is compared. A comparison costs less than
// encoding the claim.
const maxClaimKinds = 8

func newLikeness(state *model.State) likeness {
	return likeness{state: state, descriptions: map[*model.Tree]string{}, kinds: map[*model.Tree]int{}}
}

func (l *likeness) areAlike(a, b *model.Tree) bool { return l.signature(a) == l.signature(b) }

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
	text, ok := l.descriptions[t]
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
	l.descriptions[t] = text
	return text
}

// hasOneChoice reports whether it does not matter which of the pods of a PodGroup are placed: all
// that wait are needed, or they are alike.
func (l *likeness) hasOneChoice(leaf *model.Tree) bool {
	l.signature(leaf)
	kinds, counted := l.kinds[leaf]
	return counted && kinds == 1 || leaf.Need() >= leaf.Census.Ready
}

// leafSignature describes a PodGroup by its pods. One with bound pods is like no other.
func (l *likeness) leafSignature(t *model.Tree) string {
	if t.Census.Bound > 0 {
		return "bound " + t.Key().String()
	}
	pods := map[string]int{}
	for _, pod := range l.state.Groups.Members(t.Group.Key) {
		if pod.Ready() {
			pods[l.podSignature(t.Group, pod)]++
		}
	}
	l.kinds[t] = len(pods)
	counts, err := json.Marshal(pods) // sorted by key
	if err != nil {
		return t.Key().String()
	}
	return fmt.Sprintf("%d %d %q %q %s", t.Min(), t.Need(), t.Topology(), t.Problem, counts)
}

// podSignature describes what decides where a pod can go.
func (l *likeness) podSignature(group *model.Group, pod *model.Pod) string {
	var b strings.Builder
	b.WriteString(pod.Shape.ID)
	if l.state.Terms.Any() || len(pod.Mounts) > 0 {
		b.WriteString(" " + pod.Key.String()) // others may prefer or avoid it
	}
	for i := range pod.Claims {
		b.WriteString(" ")
		b.WriteString(l.claimSignature(group, pod, pod.Claims[i].Claim))
		b.WriteString(" ")
		b.WriteString(strconv.Itoa(len(pod.Claims[i].Containers)))
	}
	return b.String()
}

// claimSignature describes what a claim of the pod, of its group or of a group above requests. One
// that others use or that has devices is like no other.
func (l *likeness) claimSignature(group *model.Group, pod *model.Pod, name string) string {
	key := model.Key{Namespace: pod.Key.Namespace, Name: name}
	claim, ok := l.state.Claims.Get(key)
	switch {
	case !ok || claim.Allocation != nil || len(claim.Consumers) > 0:
		return key.String()
	case claim.Controller == pod.UID:
		return "own " + l.requests(claim)
	case claim.Controller == group.UID:
		return "shared " + l.requests(claim)
	case claim.Controller != "":
		if level, ok := l.levelOf(group, claim); ok {
			return fmt.Sprintf("shared by %d %s", level, l.requests(claim))
		}
	}
	return key.String()
}

// levelOf returns how far above the PodGroup the CompositePodGroup is for which a claim was
// generated. Children of one group have claims of their own from the same levels below it, and share
// those from above, so that it does not matter which of them is placed.
func (l *likeness) levelOf(group *model.Group, claim *model.Claim) (level int, ok bool) {
	level = slices.IndexFunc(l.state.Above(group.Key), func(key model.Key) bool {
		composite, ok := l.state.Groups.Composites.Get(key)
		return ok && composite.UID == claim.Controller
	})
	return level, level >= 0
}

// requests returns a text that is equal for claims that request the same.
func (l *likeness) requests(claim *model.Claim) string {
	for i := range l.claims {
		if kind := &l.claims[i]; requestSame(kind.claim, claim) {
			return kind.text
		}
	}
	encoded, err := json.Marshal([]any{claim.Requests, claim.Constraints, reservedFor(claim)})
	if err != nil {
		return claim.Key.String()
	}
	text := string(encoded)
	if len(l.claims) < maxClaimKinds {
		l.claims = append(l.claims, claimKind{claim: claim, text: text})
	}
	return text
}

// requestSame reports whether two claims differ in nothing that decides which devices they get.
func requestSame(a, b *model.Claim) bool {
	return reflect.DeepEqual(a.Requests, b.Requests) && reflect.DeepEqual(a.Constraints, b.Constraints) &&
		reflect.DeepEqual(reservedFor(a), reservedFor(b))
}

// reservedFor returns the consumer that makes a claim differ from others. The claim of a tree is
// reserved for its owner.
func reservedFor(claim *model.Claim) *model.Consumer {
	if claim.ReservedFor != nil && claim.ReservedFor.UID == claim.Controller {
		return nil
	}
	return claim.ReservedFor
}
