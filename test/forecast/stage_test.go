package forecast

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/yaml"

	"github.com/allot-dev/allot/internal/apiserver"
	"github.com/allot-dev/allot/internal/apiserver/offline"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/claim"
	"github.com/allot-dev/allot/internal/controller/deployment"
	"github.com/allot-dev/allot/internal/controller/garbagecollector"
	"github.com/allot-dev/allot/internal/controller/job"
	"github.com/allot-dev/allot/internal/controller/podgroup"
	"github.com/allot-dev/allot/internal/controller/replicaset"
	"github.com/allot-dev/allot/internal/controller/statefulset"
	"github.com/allot-dev/allot/internal/fleet"
	"github.com/allot-dev/allot/internal/forecast"
	"github.com/allot-dev/allot/internal/metrics"
	"github.com/allot-dev/allot/internal/node"
	"github.com/allot-dev/allot/internal/scheduler"
	"github.com/allot-dev/allot/internal/snapshot"
	"github.com/allot-dev/allot/internal/testkit/memserver"
)

// The parts of the product that a stage can start.
const (
	machines    = "machines"
	controllers = "controllers"
	placer      = "scheduler"
)

// calm is for how long nothing is written when everything is at rest: longer than the back-off of a
// Job.
const calm = 10 * time.Minute

// stage is a cluster on a server in memory.
type stage struct {
	*testing.T
	server  *memserver.Server
	offline *offline.Server
	people  dynamic.Interface
	fleet   fleet.Fleet
	parts   map[string]*part
}

// part is a part of the product that runs.
type part struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	caches  *client.Informers
}

// end ends the part and waits for it.
func (p *part) end() {
	p.cancel()
	p.running.Wait()
	p.caches.Wait()
}

func newStage(t *testing.T, server *memserver.Server, machines fleet.Fleet) *stage {
	s := &stage{T: t, server: server, fleet: machines, parts: map[string]*part{}}
	scheme, err := apiserver.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	if s.offline, err = offline.New(scheme); err != nil {
		t.Fatal(err)
	}
	if s.people, err = dynamic.NewForConfig(server.Config(nil)); err != nil {
		t.Fatal(err)
	}
	return s
}

// end ends all parts.
func (s *stage) end() {
	for name := range s.parts {
		s.stop(name)
	}
}

// stop ends a part.
func (s *stage) stop(name string) {
	s.parts[name].end()
	delete(s.parts, name)
}

type runner interface {
	Run(ctx context.Context) error
}

// start starts a part on a client and caches of its own.
func (s *stage) start(name string) {
	set, err := client.New(s.server.Config(nil))
	if err != nil {
		s.Fatal(err)
	}
	caches := client.NewInformers(set)
	events := &record.FakeRecorder{}
	var runners []runner
	add := func(r runner, err error) {
		if err != nil {
			s.Fatal(err)
		}
		runners = append(runners, r)
	}
	switch name {
	case machines:
		add(node.New(set, caches, s.fleet, node.Options{Events: events, LeaseDuration: 24 * time.Hour}))
	case controllers:
		add(claim.New(set, caches, events, metrics.New().Claims, claim.Options{}))
		add(podgroup.New(set, caches, events))
		add(job.New(set, caches, events))
		add(replicaset.New(set, caches, events))
		add(statefulset.New(set, caches, events))
		add(deployment.New(set, caches, events))
		add(garbagecollector.New(set, caches, events))
	case placer:
		add(scheduler.New(set, caches, events, scheduler.Options{}))
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &part{cancel: cancel, caches: caches}
	s.parts[name] = p
	caches.Start(ctx)
	for _, r := range runners {
		p.running.Go(func() { _ = r.Run(ctx) })
	}
}

// rest waits until nothing is written any more.
func (s *stage) rest() {
	for quiet, written := time.Duration(0), uint64(0); quiet < calm; quiet += 10 * time.Second {
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if now := s.server.Revision(); now != written {
			written, quiet = now, 0
		}
	}
}

// nextSecond waits until a second begins, so that all that is created then has the same age.
func (s *stage) nextSecond() {
	now := time.Now()
	time.Sleep(now.Truncate(time.Second).Add(time.Second).Sub(now))
}

var clusterWide = map[string]bool{"Namespace": true, "DeviceClass": true, "PriorityClass": true}

func (s *stage) apply(manifests []string) {
	for _, text := range manifests {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			s.Fatalf("%v in %s", err, text)
		}
		resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
		var err error
		if clusterWide[object.GetKind()] {
			_, err = s.people.Resource(resource).Create(context.Background(), object, metav1.CreateOptions{})
		} else {
			_, err = s.people.Resource(resource).Namespace(metav1.NamespaceDefault).Create(context.Background(), object,
				metav1.CreateOptions{})
		}
		if err != nil {
			s.Fatalf("create %s: %v", object.GetName(), err)
		}
	}
}

// manifest returns the text as a manifest of a plan.
func (s *stage) manifest(text string) forecast.Manifest {
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		s.Fatal(err)
	}
	object, err := s.offline.Decode(data)
	if err != nil {
		s.Fatal(err)
	}
	if s.offline.Namespaced(object) {
		object.SetNamespace(metav1.NamespaceDefault)
	}
	return forecast.Manifest{Source: object.GetName(), Object: object, Patch: data}
}

// snapshot returns what the server has.
func (s *stage) snapshot() *snapshot.Snapshot {
	snap := snapshot.New(metav1.NewTime(time.Now()), snapshot.Server{Version: "v1.37.2+allot", Allot: true})
	for _, resource := range []string{
		"nodes", "namespaces", "pods", "podgroups.scheduling.k8s.io", "workloads.scheduling.k8s.io",
		"priorityclasses.scheduling.k8s.io",
		"resourceclaims.resource.k8s.io", "resourceclaimtemplates.resource.k8s.io", "deviceclasses.resource.k8s.io",
		"resourceslices.resource.k8s.io",
		"jobs.batch", "deployments.apps", "replicasets.apps", "statefulsets.apps",
	} {
		for _, object := range s.server.Objects(schema.ParseGroupResource(resource)) {
			if !snap.Put(object.DeepCopyObject()) {
				s.Fatalf("a Snapshot has no %T", object)
			}
		}
	}
	return snap
}
