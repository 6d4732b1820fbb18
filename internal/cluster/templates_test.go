package cluster

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/testkit/memcache"
)

// A pod reports which template does not exist, until it is created, and again when it is deleted
// (P20).
func TestMissingTemplates(t *testing.T) {
	const generated = `claim "dev": the ResourceClaim has not been generated yet`
	namespaced, cluster := memcache.New[*resource.ResourceClaimTemplate](), memcache.New[*resourcev1alpha3.ClusterResourceClaimTemplate]()
	for _, kind := range []struct {
		name           string
		forAll         bool // it is cluster-scoped
		create, remove func()
	}{
		{
			"ResourceClaimTemplate", false,
			func() {
				namespaced.Put(&resource.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "dev"}})
			},
			func() { namespaced.Delete(ns, "dev") },
		},
		{
			"ClusterResourceClaimTemplate", true,
			func() {
				cluster.Put(&resourcev1alpha3.ClusterResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: "dev"}})
			},
			func() { cluster.Delete("", "dev") },
		},
	} {
		t.Run(kind.name, func(t *testing.T) {
			w := newWorld(t)
			feed, err := NewFeed(Caches{
				Pods: w.pods, PodGroups: w.groups, Claims: w.claims, Nodes: w.nodes, Namespaces: w.namespaces, Classes: w.classes,
				Slices:    w.slices,
				Templates: namespaced, ClusterTemplates: cluster,
			}, "default-scheduler")
			if err != nil {
				t.Fatal(err)
			}
			pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p", UID: "u"}}
			entry := core.PodResourceClaim{}
			entry.Name = "dev"
			if kind.forAll {
				entry.ClusterResourceClaimTemplateName = ptr.To("dev")
			} else {
				entry.ResourceClaimTemplateName = ptr.To("dev")
			}
			pod.Spec.ResourceClaims = []core.PodResourceClaim{entry}
			expect := func(when, want string, wakes bool) {
				t.Helper()
				topics := feed.Apply(w.state)
				p, _ := w.state.Pods.Get(model.Key{Namespace: ns, Name: "p"})
				if got := p.Claims[0].Problem; got != want {
					t.Errorf("%s: %q, want %q", when, got, want)
				}
				if len(topics) > 0 != wakes {
					t.Errorf("%s: topics %v", when, topics)
				}
			}
			missing := `claim "dev": ` + kind.name + " dev does not exist"
			w.pods.Put(pod)
			expect("without a template", missing, true)
			kind.create()
			expect("with a template", generated, true)
			kind.create()
			expect("with a changed template", generated, false)
			kind.remove()
			expect("with a deleted template", missing, true)
			w.pods.Delete(ns, "p")
			kind.create()
			feed.Apply(w.state)
			if n := len(feed.templates.pods) + len(feed.templates.ofPod); n > 0 {
				t.Errorf("%d entries are kept of a deleted pod", n)
			}
		})
	}
}
