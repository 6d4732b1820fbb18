package claims

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/features"
)

// Facts are what is known when claims of an owner are looked after.
type Facts struct {
	// Templates are those of the owner's entries that exist, by source.
	Templates map[Source]Template
	// Claims are those known in the owner's namespace that it controls, that its
	// status names, or that were met under a name that was wanted. More do no harm.
	Claims []*resource.ResourceClaim
	// Gone are names that a live read did not find.
	Gone map[string]bool
	// NoClusterTemplates says that they are off: nothing more is generated from one (K5978).
	NoClusterTemplates bool
}

// Found adds a claim as the server has just shown it.
func (f *Facts) Found(claim *resource.ResourceClaim) {
	f.Claims = slices.DeleteFunc(slices.Clone(f.Claims), func(c *resource.ResourceClaim) bool {
		return c.Name == claim.Name && c.Namespace == claim.Namespace
	})
	f.Claims = append(f.Claims, claim)
	delete(f.Gone, claim.Name)
}

// Lost notes that the server has no claim of this name.
func (f *Facts) Lost(name string) {
	if f.Gone == nil {
		f.Gone = map[string]bool{}
	}
	f.Gone[name] = true
}

// Want is what has to be done for an owner. The caller reads what Ask names and
// creates what Create has, adds the results to the facts, and asks again, until both
// are empty; then it writes Record, in one request.
type Want struct {
	// Ask are claim names that the status has and the facts do not know.
	Ask []string
	// Create are claims to create. A name that turns out to be taken is a fact as
	// well: it was made for this entry by somebody quicker, or it is another's.
	Create []*resource.ResourceClaim
	// Record is the complete list for status.resourceClaimStatuses, sorted by name;
	// nil when it is right as it is.
	Record []corev1.PodResourceClaimStatus
	// Problems are the entries that get no claim now.
	Problems []*Problem
}

// Settled tells that nothing is left to ask or to create.
func (w Want) Settled() bool { return len(w.Ask) == 0 && len(w.Create) == 0 }

// Wanted decides which claims the owner lacks and what its status must say.
//
// For each entry in this order: what the status names is kept if it exists and is
// the owner's; else a claim that was made for the entry is adopted, even when its
// template is gone; else one is generated. An entry whose record says that no claim
// is needed is left alone.
func Wanted(owner Owner, facts Facts) Want {
	w := Want{Problems: slices.Clone(owner.Problems)}
	records := slices.Clone(owner.Records)
	for _, entry := range owner.Entries {
		name, has := recorded(owner.Records, entry.Name)
		if has && (name == nil || entry.Fixed) {
			continue
		}
		if entry.Source.Kind == Direct {
			records = record(records, entry.Name, entry.Source.Name)
			continue
		}
		if claim, ok := w.generated(owner, entry, name, facts); ok {
			records = record(records, entry.Name, claim)
		}
	}
	sortRecords(records)
	if !apiequality.Semantic.DeepEqual(records, sorted(owner.Records)) {
		w.Record = records
	}
	return w
}

// generated gives the name of the claim for an entry that has a template, or adds
// to w what must happen before there is one.
func (w *Want) generated(owner Owner, entry Entry, name *string, facts Facts) (string, bool) {
	if name != nil && !facts.Gone[*name] {
		claim, known := facts.claim(owner, *name)
		switch {
		case !known:
			w.Ask = append(w.Ask, *name)
			return "", false
		case controllerUID(claim) == owner.UID:
			return *name, true
		}
	}
	if claim, ok := facts.adoptable(owner, entry.Name); ok {
		return claim.Name, true
	}
	template, ok := facts.Templates[entry.Source]
	switch {
	case facts.NoClusterTemplates && entry.Source.Kind == ClusterTemplate:
		w.Problems = append(w.Problems, &Problem{Reason: FeatureOff, Entry: entry.Name, Object: features.ClusterTemplates.String()})
		return "", false
	case !ok:
		w.Problems = append(w.Problems, &Problem{Reason: TemplateMissing, Entry: entry.Name, Object: entry.Source.String()})
		return "", false
	}
	w.Create = append(w.Create, facts.fresh(owner, entry.Name, template))
	return "", false
}

func (f Facts) claim(owner Owner, name string) (*resource.ResourceClaim, bool) {
	for _, c := range f.Claims {
		if c.Name == name && c.Namespace == owner.Namespace {
			return c, true
		}
	}
	return nil, false
}

// adoptable is the claim that was made for the entry. There should be one at most;
// of several, one that stays, then the oldest, then the first by name is taken, so
// that everybody takes the same and the status never flaps.
func (f Facts) adoptable(owner Owner, entry string) (*resource.ResourceClaim, bool) {
	var best *resource.ResourceClaim
	for _, c := range f.Claims {
		if madeFor(c, owner, entry) && !f.Gone[c.Name] && (best == nil || before(c, best)) {
			best = c
		}
	}
	return best, best != nil
}

func before(a, b *resource.ResourceClaim) bool {
	if goes := a.DeletionTimestamp != nil; goes != (b.DeletionTimestamp != nil) {
		return !goes
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name)) < 0
}

// fresh is a claim under the first of the entry's names that no claim is known to have.
func (f Facts) fresh(owner Owner, entry string, t Template) *resource.ResourceClaim {
	for attempt := 0; ; attempt++ {
		claim := generate(owner, entry, t, attempt)
		if _, taken := f.claim(owner, claim.Name); !taken || f.Gone[claim.Name] {
			return claim
		}
	}
}

// record sets the entry's claim in a list that the caller owns.
func record(records []corev1.PodResourceClaimStatus, entry, claim string) []corev1.PodResourceClaimStatus {
	for i := range records {
		if records[i].Name == entry {
			records[i].ResourceClaimName = &claim
			return records
		}
	}
	return append(records, corev1.PodResourceClaimStatus{Name: entry, ResourceClaimName: &claim})
}

func sorted(records []corev1.PodResourceClaimStatus) []corev1.PodResourceClaimStatus {
	out := slices.Clone(records)
	sortRecords(out)
	return out
}
