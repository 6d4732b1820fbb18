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

// Spelling is how pods join a PodGroup, and share its claims.
type Spelling string

const (
	// Named is KEP-5729's form: scheduling.k8s.io/v1alpha2, and pods name the claim of their group.
	Named Spelling = "podGroupResourceClaim"
	// Matched is that of Kubernetes 1.37: scheduling.k8s.io/v1beta1, and pods repeat the entry of their group.
	Matched Spelling = "same name and source"
	// Labelled is for clusters without PodGroups: those of allot.dev, a label, and the claim's full name.
	Labelled Spelling = "label"
	// Replaced is Labelled with the chart's admission policy, which replaces <entry>.podgroup.allot.dev by the name.
	Replaced Spelling = "label and policy"
)

// Target is a cluster to make statements about.
type Target struct {
	// Config is how an administrator reaches it.
	Config *rest.Config
	// Spelling is how PodGroups are written there.
	Spelling Spelling
	// Scheduler is spec.schedulerName of the pods; empty means the cluster's default.
	Scheduler string
	// Synced: ClusterResourceClaimTemplates of allot.dev are kept in step there.
	Synced bool
	// Patience is how long a thing that is to happen may take; zero means 30 s.
	Patience time.Duration
	// Restart kills the process that schedules and starts it anew, if the caller can do that.
	Restart func(t *testing.T)
}

// shared says that the pods of a group are one consumer of its claim.
func (g Spelling) shared() bool { return g == Named || g == Matched }

// Run makes all statements about a cluster.
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
		{"a group's claim is made once, before it has pods", claimIsMadeOnce},
		{"a group is one consumer, whatever the number of its pods", groupIsOneConsumer},
		{"more than 256 pods share a claim", manyPodsShareAClaim},
		{"a gang runs whole or not at all", gangIsWhole},
		{"a gang waits for its pods", gangWaitsForItsPods},
		{"pods wait for their group", podsWaitForTheirGroup},
		{"a claim is freed when its last pod has finished", finishedPodFreesClaim},
		{"a group that is deleted stays while its pods run, then its devices are free", deletedGroupIsFreed},
		{"a group of the same name has claims of its own", groupAgain},
		{"a scheduler that is killed finishes what it began", killedScheduler},
		{"a class offers its devices as an extended resource", classOffersResource},
		{"a cluster-wide template is in all namespaces", templateIsEverywhere},
	} {
		t.Run(statement.name, func(t *testing.T) { statement.make(t, s) })
	}
	t.Run("no device was in two claims", watch.check)
}
