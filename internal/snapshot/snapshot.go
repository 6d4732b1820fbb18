package snapshot

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/features"
)

const (
	// APIVersion is the version of the file format.
	APIVersion = "snapshot.allot.dev/v1alpha1"
	// Kind is the kind in a file.
	Kind = "Snapshot"
)

// Snapshot contains the objects of a cluster that decide placement, at one time.
type Snapshot struct {
	metav1.TypeMeta `json:",inline"`
	// Taken is the time at which the objects were read. Ages are relative to it.
	Taken  metav1.Time `json:"taken"`
	Server Server      `json:"server"`
	// Unknown lists the kinds that could not be read, or only in part.
	Unknown []Unknown `json:"unknown,omitempty"`
	// Pseudonyms is set if names and label values were replaced.
	Pseudonyms bool    `json:"pseudonyms,omitempty"`
	Objects    Objects `json:"objects"`
}

// Server describes the API server that the objects are from.
type Server struct {
	Version string `json:"version"`
	// Allot is set if the server is allot's own, so that allot is its default-scheduler.
	Allot bool `json:"allot,omitempty"`
	// FeatureGates lists what is off on the server, in the syntax of --feature-gates.
	FeatureGates string `json:"featureGates,omitempty"`
}

// Unknown is a kind that could not be read.
type Unknown struct {
	Resource string `json:"resource"` // for example "resourceslices"
	Reason   string `json:"reason"`   // why it could not be read
	Missing  string `json:"missing"`  // facts that are not known because of that
}

func (u Unknown) String() string {
	return fmt.Sprintf("%s: %s, so %s", u.Resource, u.Reason, u.Missing)
}

// New returns a Snapshot without objects.
func New(taken metav1.Time, server Server) *Snapshot {
	return &Snapshot{TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind}, Taken: taken, Server: server}
}

// Features returns the features of the server.
func (s *Snapshot) Features() (features.Set, error) {
	var on features.Set
	if err := on.Set(s.Server.FeatureGates); err != nil {
		return on, fmt.Errorf("server.featureGates: %w", err)
	}
	return on, nil
}

// Put adds an object, or replaces the one of the same name, without the parts that do not decide.
// It reports whether a Snapshot has objects of the kind. The object must not be changed afterwards.
func (s *Snapshot) Put(object runtime.Object) bool {
	obj, ok := object.(client.Object)
	return ok && slices.ContainsFunc(s.Objects.lists(), func(l list) bool { return l.put(obj) })
}

// Decides reports whether a Snapshot has objects of the kind of an object.
func Decides(object client.Object) bool {
	return slices.ContainsFunc((&Objects{}).lists(), func(l list) bool { return l.holds(object) })
}

// Delete removes an object of a kind of Objects and reports whether it was there.
func (s *Snapshot) Delete(object client.Object) bool {
	return slices.ContainsFunc(s.Objects.lists(), func(l list) bool { return l.remove(object) })
}

// Sort brings all objects into the order of the file: by namespace and name.
func (s *Snapshot) Sort() {
	for _, l := range s.Objects.lists() {
		l.sort()
	}
	slices.SortFunc(s.Unknown, func(a, b Unknown) int { return compareStrings(a.Resource, b.Resource) })
}
