package forecast

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/forecast"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/snapshot"
	"github.com/allot-dev/allot/internal/testkit/memserver"
)

var (
	worlds = flag.Int("worlds", 30, "number of random worlds")
	first  = flag.Uint64("first", 1, "seed of the first world")
)

func TestMain(m *testing.M) {
	klog.SetLogger(klog.Logger{})
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

// TestPlansComeTrue is R48.
func TestPlansComeTrue(t *testing.T) {
	server, err := memserver.New()
	if err != nil {
		t.Fatal(err)
	}
	waited, placed, evicted := 0, 0, 0
	for seed := *first; seed < *first+uint64(*worlds); seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			w := newWorld(seed)
			server.Restore(memserver.Snapshot{})
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, server, w.fleet)
				defer s.end()
				s.start(machines)
				s.start(controllers)
				s.start(placer)
				s.apply(w.given)
				s.rest()
				s.stop(placer)
				before := s.snapshot()
				planned := s.plan(w.applied)
				s.nextSecond()
				s.apply(w.applied)
				s.rest()
				s.start(placer)
				s.rest()
				happened := s.snapshot()
				gone := countMissing(before, happened)
				evicted += gone
				if diff := gocmp.Diff(outcome(planned, gone == 0), outcome(happened, gone == 0)); diff != "" {
					t.Errorf("what happened (+) is not what was planned (-):\n%s\n%s", diff, strings.Join(w.applied, "\n---\n"))
				}
				for _, pod := range happened.Objects.Pods {
					if pod.Spec.NodeName == "" {
						waited++
					} else {
						placed++
					}
				}
			})
		})
	}
	if *worlds >= 10 && (waited == 0 || placed == 0 || evicted == 0) {
		t.Errorf("%d pods were placed, %d waited and %d were evicted: the worlds test too little", placed, waited, evicted)
	}
}

// countMissing returns how many pods of a Snapshot another does not have.
func countMissing(before, after *snapshot.Snapshot) int {
	n := 0
	for _, pod := range before.Objects.Pods {
		if !slices.ContainsFunc(after.Objects.Pods, func(p *core.Pod) bool { return p.UID == pod.UID }) {
			n++
		}
	}
	return n
}

// plan returns the Snapshot that a plan of the manifests leads to.
func (s *stage) plan(applied []string) *snapshot.Snapshot {
	changes := forecast.Changes{}
	for _, text := range applied {
		changes.Apply = append(changes.Apply, s.manifest(text))
	}
	after, err := forecast.New(s.snapshot(), s.offline).After(changes)
	if err != nil {
		s.Fatal(err)
	}
	return after
}

// outcome describes where pods are and which devices they have, without names that the server
// generates, sorted. If it is not exact, it describes which pods run: when pods are preempted, the
// order in which they terminate decides which of several equal devices becomes free first.
func outcome(snap *snapshot.Snapshot, exact bool) []string {
	devices := map[model.Key][]string{}
	for _, claim := range snap.Objects.Claims {
		key := model.Key{Namespace: claim.Namespace, Name: claim.Name}
		devices[key] = []string{"waits"}
		if a := claim.Status.Allocation; a != nil {
			devices[key] = nil
			for i := range a.Devices.Results {
				devices[key] = append(devices[key],
					a.Devices.Results[i].Request+"="+model.DeviceIDOf(a.Devices.Results[i]).String())
			}
		}
	}
	var list []string
	for _, pod := range snap.Objects.Pods {
		who := pod.Name
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.Kind != "StatefulSet" {
			who = owner.Kind + " " + ownerName(owner)
			if index, ok := pod.Annotations["batch.kubernetes.io/job-completion-index"]; ok {
				who += " " + index
			}
		}
		if !exact {
			list = append(list, fmt.Sprintf("%s runs: %t", who, pod.Spec.NodeName != ""))
			continue
		}
		var has []string
		for _, name := range claims.Uses(pod) {
			has = append(has, devices[model.Key{Namespace: pod.Namespace, Name: name}]...)
		}
		slices.Sort(has)
		list = append(list, fmt.Sprintf("%s on %s has %s", who, cmp.Or(pod.Spec.NodeName, "no node"), strings.Join(has, " ")))
	}
	slices.Sort(list)
	return list
}

// ownerName returns the name of a controller, for a ReplicaSet without the hash of its template.
func ownerName(owner *metav1.OwnerReference) string {
	if owner.Kind == "ReplicaSet" {
		return owner.Name[:strings.LastIndex(owner.Name, "-")]
	}
	return owner.Name
}
