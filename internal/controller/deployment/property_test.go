package deployment

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	apps "github.com/allot-dev/allot/api/apps/v1"
)

// rolling is a Deployment with its sets. Plans are applied as the server and the ReplicaSet
// controller would.
type rolling struct {
	d    *apps.Deployment
	sets map[string]*apps.ReplicaSet
}

func (r *rolling) gathered() Gathered {
	g := Gathered{Deployment: r.d}
	for _, rs := range r.sets {
		g.Sets = append(g.Sets, rs)
	}
	return g
}

// apply makes the writes of a plan. If late is set, the ReplicaSet controller does not write a
// status afterwards.
func (r *rolling) apply(plan Plan, late bool) {
	if rs := plan.Create; rs != nil {
		rs.UID = types.UID(rs.Name)
		r.sets[rs.Name] = rs
	}
	for _, u := range plan.Update {
		r.sets[u.Set.Name] = u.Set
	}
	for _, rs := range plan.Delete {
		delete(r.sets, rs.Name)
	}
	r.d = plan.Deployment
	if late {
		return
	}
	for _, rs := range r.sets {
		// Unavailable pods are deleted first.
		setStatus(rs, sizeOf(rs), 0, min(rs.Status.AvailableReplicas, sizeOf(rs)), 0)
	}
}

func (r *rolling) totals() (asked, available int32) {
	for _, rs := range r.sets {
		asked += sizeOf(rs)
		available += min(rs.Status.AvailableReplicas, sizeOf(rs))
	}
	return asked, available
}

// TestRollingKeepsItsLimits changes size and template at random, and makes random pods available or
// fail. After each step it checks that the numbers of requested pods and of available pods are
// within the limits of the strategy. If pods work, the rollout must complete.
func TestRollingKeepsItsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := func(name string) *intstr.IntOrString {
			v := intstr.FromInt32(rapid.Int32Range(0, 4).Draw(t, name))
			return &v
		}
		size := rapid.Int32Range(0, 12)
		images := rapid.SampledFrom([]string{"v1", "v2", "v3"})
		n := size.Draw(t, "replicas")
		r := &rolling{sets: map[string]*apps.ReplicaSet{}, d: &apps.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "web"},
			Spec: apps.DeploymentSpec{
				Replicas: &n, Template: template("v1"), Selector: &metav1.LabelSelector{},
				Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxSurge: limit("surge"), MaxUnavailable: limit("unavailable"),
				}},
			},
		}}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			resized := false
			switch rapid.IntRange(0, 5).Draw(t, "change") {
			case 0:
				n := size.Draw(t, "replicas")
				resized = n != *r.d.Spec.Replicas
				r.d.Spec.Replicas = &n
			case 2: // nothing: the decision is repeated, as for a late status
			case 1:
				r.d.Spec.Template = template(images.Draw(t, "image"))
			default:
				for _, rs := range r.sets {
					rs.Status.AvailableReplicas = rapid.Int32Range(0, sizeOf(rs)).Draw(t, "available")
				}
			}
			r.check(t, resized)
		}
		r.finish(t)
	})
}

func (r *rolling) check(t *rapid.T, resized bool) {
	askedBefore, availableBefore := r.totals()
	plan, err := Decide(r.gathered())
	if err != nil {
		t.Fatal(err)
	}
	r.apply(plan, rapid.Bool().Draw(t, "late"))
	surge, unavailable, err := limits(r.d)
	if err != nil {
		t.Fatal(err)
	}
	replicas := *r.d.Spec.Replicas
	asked, available := r.totals()
	if asked > max(askedBefore, replicas+surge) {
		t.Fatalf("%d pods asked for after %d; %d + %d allowed", asked, askedBefore, replicas, surge)
	}
	if !resized && available < min(availableBefore, replicas-unavailable) {
		t.Fatalf("%d pods available after %d; at most %d of %d may be missing", available, availableBefore, unavailable,
			replicas)
	}
}

// finish makes all pods available, and checks that only pods of the current template remain.
func (r *rolling) finish(t *rapid.T) {
	for range 100 {
		for _, rs := range r.sets {
			setStatus(rs, sizeOf(rs), sizeOf(rs), sizeOf(rs), 0)
		}
		plan, err := Decide(r.gathered())
		if err != nil {
			t.Fatal(err)
		}
		if plan.Create == nil && len(plan.Update) == 0 {
			break
		}
		r.apply(plan, false)
	}
	for _, rs := range r.sets {
		want := int32(0)
		if sameTemplate(&rs.Spec.Template, &r.d.Spec.Template) {
			want = *r.d.Spec.Replicas
		}
		if sizeOf(rs) != want {
			t.Fatalf("set %s has %d, want %d", label(rs), sizeOf(rs), want)
		}
	}
}
