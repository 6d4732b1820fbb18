package conformance

import (
	_ "embed" // the fleet
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Fleet describes the machines that the statements count on (docs/fleet.md).
//
//go:embed fleet.yaml
var Fleet string

// Spelling is the way in which pods join a PodGroup, and share its claims.
type Spelling string

const (
	// Named is KEP-5729's way: scheduling.k8s.io/v1alpha2, and pods name the claim of their group.
	Named Spelling = "podGroupResourceClaim"
	// Matched is the way of Kubernetes 1.37: scheduling.k8s.io/v1beta1, and pods repeat the entry
	// of their group.
	Matched Spelling = "same name and source"
	// Labelled is for clusters without PodGroups: those of allot.dev, a label, and the complete
	// name of the claim.
	Labelled Spelling = "label"
	// Replaced is Labelled with the chart's admission policy, which replaces
	// <entry>.podgroup.allot.dev by the name.
	Replaced Spelling = "label and policy"
)

// Target is a cluster to test.
type Target struct {
	// Config is the client configuration of an administrator.
	Config *rest.Config
	// Spelling is the way in which PodGroups are used there.
	Spelling Spelling
	// Scheduler is spec.schedulerName of the pods; empty means the cluster's default.
	Scheduler string
	// Synced means that ClusterResourceClaimTemplates of allot.dev are synchronized there.
	Synced bool
	// Patience limits the time of a wait; zero means 30 s.
	Patience time.Duration
	// Restart kills the scheduler's process and starts a new one, if the caller supports that.
	Restart func(t *testing.T)
}

// shared reports whether the group is the only consumer of its claim.
func (s Spelling) shared() bool { return s == Named || s == Matched }

// Run runs all statements on a cluster.
func Run(t *testing.T, target Target) {
	if target.Patience == 0 {
		target.Patience = 30 * time.Second
	}
	s := newSuite(t, target)
	watch := s.watchDevices(t)
	for _, statement := range []struct {
		name string
		make func(*testing.T, *suite)
	}{
		{"a group's claim is made once, before it has pods", claimIsCreatedOnce},
		{"a group is one consumer, whatever the number of its pods", groupIsOneConsumer},
		{"more than 256 pods share a claim", manyPodsShareAClaim},
		{"a gang runs whole or not at all", gangIsWhole},
		{"a gang waits for its pods", gangWaitsForItsPods},
		{"pods wait for their group", podsWaitForTheirGroup},
		{"a claim is freed when its last pod has finished", finishedPodFreesClaim},
		{"a group that is deleted stays while its pods run, then its devices are free", deletedGroupIsFreed},
		{"a group of the same name has claims of its own", recreatedGroupHasOwnClaims},
		{"a scheduler that is killed finishes what it began", schedulerSurvivesKills},
		{"a class offers its devices as an extended resource", classOffersResource},
		{"a cluster-wide template is in all namespaces", templateIsEverywhere},
	} {
		t.Run(statement.name, func(t *testing.T) { statement.make(t, s) })
	}
	t.Run("no device was in two claims", watch.check)
}
