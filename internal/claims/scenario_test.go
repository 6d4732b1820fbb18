package claims_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/claims/claimstest"
)

// TestScenarios runs testdata/scenarios. Rewrite with: go test ./internal/claims -rewrite.
func TestScenarios(t *testing.T) {
	claimstest.Play(t, "testdata/scenarios", func(script *claimstest.Script) map[string]claimstest.Verb {
		s := scenario{script}
		return map[string]claimstest.Verb{
			"resolve": s.resolve, "known": s.known, "wanted": s.wanted, "reserve": s.reserve,
			"release": s.release, "can-run": s.canRun, "generate": s.generate,
		}
	})
}

// scenario is the state of one file.
type scenario struct{ *claimstest.Script }

// resolve pod=NAME [without-group]: what each entry means.
func (s scenario) resolve(t *testing.T, d *datadriven.TestData) string {
	pod := s.Pod(t, d)
	group := s.World.GroupOf(pod)
	if d.HasArg("without-group") {
		group = nil
	}
	var out lines
	for _, r := range claims.Resolve(pod, group) {
		state := [...]string{"is", "needs no claim", "not yet", "broken"}[r.State]
		out.add("%s: %s", r.Entry, strings.TrimSpace(state+" "+r.Claim))
		if r.ThroughGroup {
			out.more(" through the group")
		}
		if r.Problem != nil {
			out.more(" (%s: %s)", r.Problem.Reason, r.Problem.Error())
		}
		if claim, ok := s.World.Claim(r.Claim); ok && r.Check(claim) != nil {
			out.more(" but %s", r.Check(claim).Error())
		}
	}
	return out.String()
}

// known pod=NAME: what the API server records at creation.
func (s scenario) known(t *testing.T, d *datadriven.TestData) string {
	pod := s.Pod(t, d)
	var out lines
	for _, r := range claims.KnownGroupClaims(pod, s.World.GroupOf(pod)) {
		out.add("%s: %s", r.Name, *r.ResourceClaimName)
	}
	return out.String()
}

func (s scenario) owner(t *testing.T, d *datadriven.TestData) claims.Owner {
	switch {
	case d.HasArg("group"):
		return claims.GroupOwner(s.Group(t, d), s.World.Tree)
	case d.HasArg("tree"):
		var name string
		d.ScanArgs(t, "tree", &name)
		tree, ok := s.World.Tree(name)
		if !ok {
			d.Fatalf(t, "no tree %q", name)
		}
		return claims.TreeOwner(tree, s.World.Tree)
	}
	pod := s.Pod(t, d)
	return claims.PodOwner(pod, s.World.GroupOf(pod))
}

func (s scenario) facts(t *testing.T, d *datadriven.TestData) claims.Facts {
	facts := claims.Facts{Templates: map[claims.Source]claims.Template{}, Claims: s.World.Claims}
	for _, tmpl := range s.World.Templates {
		if tmpl.Namespace == "default" {
			facts.Templates[claims.FromTemplate(tmpl).Source] = claims.FromTemplate(tmpl)
		}
	}
	for _, tmpl := range s.World.ClusterTemplates {
		facts.Templates[claims.FromClusterTemplate(tmpl).Source] = claims.FromClusterTemplate(tmpl)
	}
	if d.HasArg("gone") {
		var gone string
		d.ScanArgs(t, "gone", &gone)
		facts.Lost(gone)
	}
	return facts
}

// wanted pod=NAME|group=NAME|tree=NAME [gone=CLAIM]: what is to be done for an owner.
func (s scenario) wanted(t *testing.T, d *datadriven.TestData) string {
	want := claims.DesiredClaims(s.owner(t, d), s.facts(t, d))
	var out lines
	for _, name := range want.Ask {
		out.add("ask for %s", name)
	}
	for _, claim := range want.Create {
		out.add("create %s for entry %s", claim.Name, claim.Annotations[claims.PodClaimAnnotation])
	}
	if want.Record != nil {
		var names []string
		for _, r := range want.Record {
			name := "null"
			if r.ResourceClaimName != nil {
				name = *r.ResourceClaimName
			}
			names = append(names, r.Name+"="+name)
		}
		out.add("record %s", strings.Join(names, " "))
	}
	for _, p := range want.Problems {
		out.add("problem %s: %s", p.Reason, p.Error())
	}
	return out.String()
}

// generate pod=NAME|group=NAME|tree=NAME: the claims to create, with what they bear.
func (s scenario) generate(t *testing.T, d *datadriven.TestData) string {
	var out lines
	for _, c := range claims.DesiredClaims(s.owner(t, d), s.facts(t, d)).Create {
		out.add("%s/%s generateName=%s", c.Namespace, c.Name, c.GenerateName)
		for _, ref := range c.OwnerReferences {
			out.add("  owner %s %s %s uid=%s controller=%t block=%t", ref.APIVersion, ref.Kind, ref.Name, ref.UID,
				*ref.Controller, *ref.BlockOwnerDeletion)
		}
		out.pairs("  label", c.Labels)
		out.pairs("  annotation", c.Annotations)
		out.add("  finalizers %s", strings.Join(c.Finalizers, " "))
		if r := c.Spec.ReservedFor; r != nil {
			out.add("  reserved for %s %s %s uid=%s", r.APIGroup, r.Resource, r.Name, r.UID)
		}
		for _, r := range c.Spec.Devices.Requests {
			out.add("  request %s class=%s", r.Name, r.Exactly.DeviceClassName)
		}
	}
	return out.String()
}

// reserve pod=NAME claim=NAME: for the entry that means the claim.
func (s scenario) reserve(t *testing.T, d *datadriven.TestData) string {
	pod, claim := s.Pod(t, d), s.Claim(t, d)
	if d.HasArg("full") {
		var n int
		d.ScanArgs(t, "full", &n)
		claim = claim.DeepCopy()
		for i := range n {
			claim.Status.ReservedFor = append(claim.Status.ReservedFor, claimstest.Consumer(fmt.Sprintf("pod/other-%d", i)))
		}
	}
	group := s.World.GroupOf(pod)
	for _, r := range claims.Resolve(pod, group) {
		if r.Claim != claim.Name {
			continue
		}
		var out lines
		out.add("needed by the controller: %t", claims.NeedsReservation(pod, claim))
		add, problem := claims.Reserve(pod, group, r, claim)
		switch {
		case problem != nil:
			out.add("problem %s: %s", problem.Reason, problem.Error())
		case add == nil:
			out.add("nothing to add")
		default:
			out.add("add %s", consumer(*add))
		}
		return out.String()
	}
	return "no entry means this claim\n"
}

// can-run pod=NAME claim=NAME: the node's question.
func (s scenario) canRun(t *testing.T, d *datadriven.TestData) string {
	if p := claims.CanRun(s.Pod(t, d), s.Claim(t, d)); p != nil {
		return fmt.Sprintf("no, %s: %s\n", p.Reason, p.Error())
	}
	return "yes\n"
}

// release claim=NAME [gone=UID] [emptied] [stale] [lagging]: who leaves, and what becomes of the
// claim. Lagging: pods that name the claim may be missing. All pods and PodGroups of the world are
// known, live or, if stale, from a cache.
func (s scenario) release(t *testing.T, d *datadriven.TestData) string {
	claim := s.Claim(t, d)
	known := claims.Known{
		Pods:    map[string]*core.Pod{},
		Groups:  map[string]*scheduling.PodGroup{},
		Gone:    map[types.UID]bool{},
		Live:    map[types.UID]bool{},
		Emptied: d.HasArg("emptied"),
		Current: !d.HasArg("lagging"),
	}
	for _, ref := range claim.Status.ReservedFor {
		known.Live[ref.UID] = !d.HasArg("stale")
	}
	if _, uid, ok := claims.OwnerPod(claim); ok {
		known.Live[uid] = !d.HasArg("stale")
	}
	for _, group := range s.World.Groups {
		known.Groups[group.Name] = group
	}
	for _, pod := range s.World.Pods {
		known.Pods[pod.Name] = pod
		if slices.Contains(claims.Uses(pod), claim.Name) {
			known.Users = append(known.Users, pod)
		}
	}
	if d.HasArg("gone") {
		var gone string
		d.ScanArgs(t, "gone", &gone)
		known.Gone[types.UID(gone)] = true
	}
	return decision(claims.Release(claim, known))
}

func decision(r claims.Decision) string {
	if r.AskUsers {
		return "ask for the pods that name the claim\n"
	}
	var out lines
	for _, ref := range r.Ask {
		out.add("ask for %s", consumer(ref))
	}
	for _, drop := range r.Drop {
		out.add("drop %s: %s", consumer(drop.Consumer), drop.Why)
	}
	for _, ref := range r.Add {
		out.add("add %s", consumer(ref))
	}
	for _, ref := range r.Foreign {
		out.add("wait for %s", consumer(ref))
	}
	if r.StatusChanges() {
		var left []string
		for _, ref := range r.Reserved {
			left = append(left, consumer(ref))
		}
		out.add("write reservedFor [%s]", strings.Join(left, " "))
		if r.Deallocate {
			out.more(" without allocation")
		}
	}
	if r.FinalizerOff {
		out.add("finalizer off")
	}
	if r.Delete {
		out.add("delete")
	}
	return out.String()
}

func consumer(ref resourcev1.ResourceClaimConsumerReference) string {
	resource := ref.Resource
	if ref.APIGroup != "" {
		resource += "." + ref.APIGroup
	}
	return fmt.Sprintf("%s/%s(%s)", resource, ref.Name, ref.UID)
}

// lines is printed state; empty is said, so that nothing never looks like success.
type lines struct{ list []string }

func (l *lines) add(format string, args ...any) {
	l.list = append(l.list, fmt.Sprintf(format, args...))
}

func (l *lines) more(format string, args ...any) {
	l.list[len(l.list)-1] += fmt.Sprintf(format, args...)
}

func (l *lines) pairs(title string, m map[string]string) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		l.add("%s %s=%s", title, k, m[k])
	}
}

func (l *lines) String() string {
	if len(l.list) == 0 {
		return "nothing\n"
	}
	return strings.Join(l.list, "\n") + "\n"
}
