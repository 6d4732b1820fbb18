package explain_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/allot-dev/allot/api"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/apiserver/registry"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/plan"
	"github.com/allot-dev/allot/internal/snapshot"
)

// start is the creation time of the objects of a world; they are explained an hour later.
var start = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

// world is a cluster whose claims are generated and whose pods are placed without any server.
type world struct {
	*testing.T
	snap    *snapshot.Snapshot
	created int
}

// load reads manifests, and acts on them as controllers and the scheduler do.
func load(t *testing.T, server snapshot.Server, files ...string) *snapshot.Snapshot {
	t.Helper()
	w := &world{T: t, snap: snapshot.New(metav1.NewTime(start.Add(time.Hour)), server)}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w.apply(data)
	}
	w.generate()
	for w.place() {
	}
	w.snap.Sort()
	return w.snap
}

func (w *world) apply(manifests []byte) {
	scheme := api.NewScheme()
	if err := registry.AddDefaults(scheme, func() time.Time { return start }); err != nil {
		w.Fatal(err)
	}
	scheme.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.ResourceQuota{})
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewYAMLReader(bufioReader(manifests))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			w.Fatal(err)
		}
		if isComment(document) {
			continue
		}
		object, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			w.Fatalf("%v in\n%s", err, document)
		}
		scheme.Default(object)
		w.add(object)
	}
}

// isComment reports whether a document has no object.
func isComment(document []byte) bool {
	for line := range bytes.Lines(document) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// add completes an object as the server does. An object with a status keeps it.
func (w *world) add(object runtime.Object) {
	o := object.(client.Object)
	w.created++
	switch object := object.(type) {
	case *core.Pod:
		if object.Spec.Priority == nil {
			priority := int32(0)
			object.Spec.Priority = &priority
		}
		object.Status.Phase = cmp.Or(object.Status.Phase, corev1.PodPending)
		if object.Spec.NodeName != "" && object.Status.Phase == corev1.PodPending {
			object.Status.Phase = corev1.PodRunning
		}
	case *corev1.Node:
		object.Labels = withLabel(object.Labels, corev1.LabelHostname, object.Name)
		for name, most := range map[corev1.ResourceName]string{corev1.ResourceCPU: "8", corev1.ResourceMemory: "32Gi",
			corev1.ResourcePods: "110"} {
			if _, has := object.Status.Allocatable[name]; !has {
				if object.Status.Allocatable == nil {
					object.Status.Allocatable = corev1.ResourceList{}
				}
				object.Status.Allocatable[name] = apiresource.MustParse(most)
			}
		}
	}
	if o.GetUID() == "" {
		o.SetUID(types.UID(fmt.Sprintf("uid-%d", w.created)))
	}
	if created := o.GetCreationTimestamp(); created.IsZero() {
		o.SetCreationTimestamp(metav1.NewTime(start.Add(time.Duration(w.created) * time.Second)))
	}
	if namespaced(object) && o.GetNamespace() == "" {
		o.SetNamespace("default")
	}
	if !w.snap.Put(object) {
		w.Fatalf("a snapshot has no %T", object)
	}
}

func namespaced(object runtime.Object) bool {
	switch object.(type) {
	case *corev1.Node, *corev1.Namespace, *corev1.PersistentVolume, *resourcev1.DeviceClass, *resourcev1.ResourceSlice,
		*resourcev1.DeviceTaintRule, *schedulingv1.PriorityClass:
		return false
	}
	return true
}

func withLabel(labels map[string]string, key, value string) map[string]string {
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = cmp.Or(labels[key], value)
	return labels
}

func (w *world) tree(name string) (*v1alpha3.CompositePodGroup, bool) {
	for _, tree := range w.snap.Objects.Composites {
		if tree.Name == name {
			return tree, true
		}
	}
	return nil, false
}

// generate creates the claims of PodGroups and pods, as the claim controller does.
func (w *world) generate() {
	o := &w.snap.Objects
	for _, tree := range o.Composites {
		for _, record := range w.ensureClaims(claims.TreeOwner(tree, w.tree)).Record {
			tree.Status.ResourceClaimStatuses = append(tree.Status.ResourceClaimStatuses, record2(record))
		}
	}
	for _, group := range o.PodGroups {
		want := w.ensureClaims(claims.GroupOwner(group, w.tree))
		for _, record := range want.Record {
			group.Status.ResourceClaimStatuses = append(group.Status.ResourceClaimStatuses, record2(record))
		}
	}
	for _, pod := range o.Pods {
		var group *scheduling.PodGroup
		for _, g := range o.PodGroups {
			if name, ok := claims.GroupName(pod); ok && g.Namespace == pod.Namespace && g.Name == name {
				group = g
			}
		}
		pod.Status.ResourceClaimStatuses = append(
			pod.Status.ResourceClaimStatuses,
			w.ensureClaims(claims.PodOwner(pod, group)).Record...)
	}
}

// ensureClaims creates the claims that an owner lacks, under names without a random part. A quota of the
// namespace that has no room refuses them.
func (w *world) ensureClaims(owner claims.Owner) claims.OwnerChange {
	facts := claims.Facts{Templates: map[claims.Source]claims.Template{}, Claims: w.snap.Objects.Claims}
	for _, t := range w.snap.Objects.Templates {
		if t.Namespace == owner.Namespace {
			source := claims.Source{Kind: claims.NamespacedTemplate, Name: t.Name}
			facts.Templates[source] = claims.Template{Source: source, UID: t.UID, Spec: &t.Spec.Spec}
		}
	}
	want := claims.DesiredClaims(owner, facts)
	refused := slices.ContainsFunc(w.snap.Objects.Quotas,
		func(q *corev1.ResourceQuota) bool { return q.Namespace == owner.Namespace })
	if refused {
		return claims.OwnerChange{}
	}
	for _, claim := range want.Create {
		claim.Name = owner.Name + "-" + claim.Annotations[claims.PodClaimAnnotation]
		w.add(claim)
		facts.Claims = w.snap.Objects.Claims
	}
	return claims.DesiredClaims(owner, facts)
}

// place places the first unit that can be placed, and reports whether there was one.
func (w *world) place() bool {
	state, err := w.snap.State("default-scheduler")
	if err != nil {
		w.Fatal(err)
	}
	placer := sched.NewPlacer(state, sched.DefaultSteps)
	var units []*model.Unit
	seen := map[model.UnitKey]bool{}
	for _, pod := range w.snap.Objects.Pods {
		key := model.UnitKey{Key: model.Key{Namespace: pod.Namespace, Name: pod.Name}}
		if name, ok := claims.GroupName(pod); ok {
			key = model.UnitKey{Group: true, Key: model.Key{Namespace: pod.Namespace, Name: name}}
		}
		if unit, ok := state.Unit(key); ok && !seen[key] && pod.Annotations["test/unplaced"] == "" {
			seen[key] = true
			units = append(units, unit)
		}
	}
	slices.SortStableFunc(units, func(a, b *model.Unit) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(b.Priority, a.Priority))
	})
	for _, unit := range units {
		if made, _ := placer.Place(unit); made != nil {
			w.commit(made)
			return true
		}
	}
	return false
}

// commit applies a plan to the objects as the scheduler does through the API.
func (w *world) commit(made *plan.Plan) {
	bound := metav1.NewTime(start.Add(10 * time.Minute))
	for i := range made.Claims {
		p := &made.Claims[i]
		for _, claim := range w.snap.Objects.Claims {
			if claim.Namespace != p.Key.Namespace || claim.Name != p.Key.Name {
				continue
			}
			if p.Allocation != nil {
				claim.Status.Allocation = p.Allocation.Result()
				claim.Status.Allocation.AllocationTimestamp = &bound
			}
			claim.Status.ReservedFor = append(claim.Status.ReservedFor, p.Reserve...)
		}
	}
	for i := range made.Pods {
		for _, pod := range w.snap.Objects.Pods {
			if pod.Namespace == made.Pods[i].Pod.Namespace && pod.Name == made.Pods[i].Pod.Name {
				pod.Spec.NodeName, pod.Status.Phase, pod.Status.StartTime = made.Pods[i].Node, corev1.PodRunning, &bound
			}
		}
	}
}
