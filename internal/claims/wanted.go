package claims

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/features"
)

// Facts are the known objects on which the decision about an owner's claims is based.
type Facts struct {
	// Templates are the existing templates of the owner's entries, by source.
	Templates map[Source]Template
	// Claims are the known claims in the owner's namespace that the owner controls, that its status
	// names, or whose names turned out to be used. Other claims are ignored.
	Claims []*resource.ResourceClaim
	// Gone has the names that a read from the API did not find.
	Gone map[string]bool
	// NoClusterTemplates means that the feature is off: no claim is generated from a
	// ClusterResourceClaimTemplate (K5978).
	NoClusterTemplates bool
}

// Found adds a claim as just read from the server.
func (f *Facts) Found(claim *resource.ResourceClaim) {
	f.Claims = slices.DeleteFunc(slices.Clone(f.Claims), func(c *resource.ResourceClaim) bool {
		return c.Name == claim.Name && c.Namespace == claim.Namespace
	})
	f.Claims = append(f.Claims, claim)
	delete(f.Gone, claim.Name)
}

// Lost records that the server has no claim with this name.
func (f *Facts) Lost(name string) {
	if f.Gone == nil {
		f.Gone = map[string]bool{}
	}
	f.Gone[name] = true
}

// OwnerChange is the change to make for an owner. The caller reads the claims in Ask and creates
// those in Create, adds the results to the facts, and decides again, until both are empty. Then it
// writes Record in one request.
type OwnerChange struct {
	// Ask are the claim names in the status that are not among the facts.
	Ask []string
	// Create are the claims to create. A name that is already used is a fact as well: the claim was
	// created concurrently for this entry, or it is unrelated.
	Create []*resource.ResourceClaim
	// Record is the complete list for status.resourceClaimStatuses, sorted by name, or nil if the
	// status is up to date.
	Record []corev1.PodResourceClaimStatus
	// Problems are the entries that currently get no claim.
	Problems []*Problem
}

// Settled reports whether nothing remains to be read or created.
func (c OwnerChange) Settled() bool { return len(c.Ask) == 0 && len(c.Create) == 0 }

// DesiredClaims decides which claims the owner lacks and what its status must record.
//
// For each entry, in this order: a recorded claim is kept if it exists and belongs to the owner;
// otherwise a claim that was generated for the entry is adopted, even if its template was deleted;
// otherwise a claim is generated. An entry whose record shows that no claim is needed is skipped.
func DesiredClaims(owner Owner, facts Facts) OwnerChange {
	w := OwnerChange{Problems: slices.Clone(owner.Problems)}
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
	if !apiequality.Semantic.DeepEqual(records, sortedByName(owner.Records)) {
		w.Record = records
	}
	return w
}

// generated returns the claim name for an entry with a template, or adds to w what must be done
// first.
func (c *OwnerChange) generated(owner Owner, entry Entry, name *string, facts Facts) (string, bool) {
	if name != nil && !facts.Gone[*name] {
		claim, known := facts.claim(owner, *name)
		switch {
		case !known && !facts.isNext(owner, entry, *name):
			c.Ask = append(c.Ask, *name)
			return "", false
		case known && controllerUID(claim) == owner.UID:
			return *name, true
		}
	}
	if claim, ok := facts.adoptable(owner, entry.Name); ok {
		return claim.Name, true
	}
	template, ok := facts.Templates[entry.Source]
	switch {
	case facts.NoClusterTemplates && entry.Source.Kind == ClusterTemplate:
		c.Problems = append(c.Problems,
			&Problem{Reason: FeatureOff, Entry: entry.Name, Object: features.ClusterTemplates.String()})
		return "", false
	case !ok:
		c.Problems = append(c.Problems, &Problem{Reason: TemplateMissing, Entry: entry.Name, Object: entry.Source.String()})
		return "", false
	}
	c.Create = append(c.Create, facts.newClaim(owner, entry.Name, template))
	return "", false
}

// isNext reports whether a claim with a recorded name that is not known would be created next for
// the entry. Then it need not be read first: if it exists, creating it finds that out. The API
// server records such names in new pods (KnownClaims).
func (f Facts) isNext(owner Owner, entry Entry, name string) bool {
	if _, ok := f.Templates[entry.Source]; !ok || name != generatedName(owner, entry.Name, 0) {
		return false
	}
	_, other := f.adoptable(owner, entry.Name)
	return !other
}

func (f Facts) claim(owner Owner, name string) (*resource.ResourceClaim, bool) {
	for _, c := range f.Claims {
		if c.Name == name && c.Namespace == owner.Namespace {
			return c, true
		}
	}
	return nil, false
}

// adoptable returns the claim that was generated for the entry. There should be at most one. If
// there are several, claims that are not being deleted are preferred, then the oldest, then the
// first by name, so that the choice is stable.
func (f Facts) adoptable(owner Owner, entry string) (*resource.ResourceClaim, bool) {
	var best *resource.ResourceClaim
	for _, c := range f.Claims {
		if madeFor(c, owner, entry) && !f.Gone[c.Name] && (best == nil || sortsBefore(c, best)) {
			best = c
		}
	}
	return best, best != nil
}

func sortsBefore(a, b *resource.ResourceClaim) bool {
	if goes := a.DeletionTimestamp != nil; goes != (b.DeletionTimestamp != nil) {
		return !goes
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name)) < 0
}

// newClaim returns a claim with the first of the entry's names that no known claim has.
func (f Facts) newClaim(owner Owner, entry string, t Template) *resource.ResourceClaim {
	for attempt := 0; ; attempt++ {
		claim := generate(owner, entry, t, attempt)
		if _, taken := f.claim(owner, claim.Name); !taken || f.Gone[claim.Name] {
			return claim
		}
	}
}

// record sets the claim of an entry in a list that the caller owns.
func record(records []corev1.PodResourceClaimStatus, entry, claim string) []corev1.PodResourceClaimStatus {
	for i := range records {
		if records[i].Name == entry {
			records[i].ResourceClaimName = &claim
			return records
		}
	}
	return append(records, corev1.PodResourceClaimStatus{Name: entry, ResourceClaimName: &claim})
}

func sortedByName(records []corev1.PodResourceClaimStatus) []corev1.PodResourceClaimStatus {
	out := slices.Clone(records)
	sortRecords(out)
	return out
}
