package forecast

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/model"
)

// deletable is a kind whose objects can be deleted.
type deletable struct {
	names      []string // the name of the kind, its resource, and short names
	namespaced bool
	like       func() client.Object
}

// deletables returns the kinds whose objects can be deleted.
func deletables() []deletable {
	return []deletable{
		{[]string{"pod", "pods", "po"}, true, func() client.Object { return &core.Pod{} }},
		{[]string{"job", "jobs"}, true, func() client.Object { return &batch.Job{} }},
		{[]string{"deployment", "deployments", "deploy"}, true, func() client.Object { return &apps.Deployment{} }},
		{[]string{"replicaset", "replicasets", "rs"}, true, func() client.Object { return &apps.ReplicaSet{} }},
		{[]string{"statefulset", "statefulsets", "sts"}, true, func() client.Object { return &apps.StatefulSet{} }},
		{[]string{"daemonset", "daemonsets", "ds"}, true, func() client.Object { return &apps.DaemonSet{} }},
		{[]string{"podgroup", "podgroups", "pg"}, true, func() client.Object { return &scheduling.PodGroup{} }},
		{
			[]string{"compositepodgroup", "compositepodgroups"},
			true,
			func() client.Object { return &v1alpha3.CompositePodGroup{} },
		},
		{[]string{"workload", "workloads"}, true, func() client.Object { return &scheduling.Workload{} }},
		{
			[]string{"resourceclaim", "resourceclaims", "claim"},
			true,
			func() client.Object { return &resource.ResourceClaim{} },
		},
		{
			[]string{"resourceclaimtemplate", "resourceclaimtemplates"},
			true,
			func() client.Object { return &resource.ResourceClaimTemplate{} },
		},
		{[]string{"resourcequota", "resourcequotas", "quota"}, true, func() client.Object { return &corev1.ResourceQuota{} }},
		{[]string{"limitrange", "limitranges", "limits"}, true, func() client.Object { return &corev1.LimitRange{} }},
		{
			[]string{"poddisruptionbudget", "poddisruptionbudgets", "pdb"},
			true,
			func() client.Object { return &policyv1.PodDisruptionBudget{} },
		},
		{[]string{"node", "nodes", "no"}, false, func() client.Object { return &corev1.Node{} }},
		{[]string{"namespace", "namespaces", "ns"}, false, func() client.Object { return &corev1.Namespace{} }},
		{[]string{"deviceclass", "deviceclasses"}, false, func() client.Object { return &resourcev1.DeviceClass{} }},
		{[]string{"resourceslice", "resourceslices"}, false, func() client.Object { return &resourcev1.ResourceSlice{} }},
		{
			[]string{"devicetaintrule", "devicetaintrules"},
			false,
			func() client.Object { return &resourcev1.DeviceTaintRule{} },
		},
		{[]string{"clusterresourceclaimtemplate", "clusterresourceclaimtemplates"}, false,
			func() client.Object { return &resourcev1alpha3.ClusterResourceClaimTemplate{} }},
		{
			[]string{"priorityclass", "priorityclasses", "pc"},
			false,
			func() client.Object { return &schedulingv1.PriorityClass{} },
		},
	}
}

// DeletableKinds returns the kinds whose objects can be deleted.
func DeletableKinds() []string {
	var kinds []string
	for _, d := range deletables() {
		kinds = append(kinds, d.names[0])
	}
	return kinds
}

// ResourceOf returns the resource of a kind as a person writes it, for example "pods" for "po", or
// "".
func ResourceOf(kind string) string {
	for _, d := range deletables() {
		if slices.Contains(d.names, strings.ToLower(kind)) {
			return d.names[1]
		}
	}
	return ""
}

// delete deletes an object with all that it owns.
func (s *simulation) delete(ref Ref, namespace string) error {
	word := strings.ToLower(ref.Kind)
	kinds := deletables()
	at := slices.IndexFunc(kinds, func(d deletable) bool { return slices.Contains(d.names, word) })
	if at < 0 {
		return fmt.Errorf("delete %s: the kind is none of %s", ref, strings.Join(DeletableKinds(), ", "))
	}
	like := kinds[at].like()
	like.SetName(ref.Name)
	if kinds[at].namespaced {
		like.SetNamespace(namespace)
	}
	object, ok := s.world.Find(like)
	if !ok {
		return fmt.Errorf("delete %s: it does not exist", strings.TrimSpace(ref.String()+inNamespace(like.GetNamespace())))
	}
	s.record(Delete, object)
	switch o := object.(type) {
	case *corev1.Node:
		s.deleteNode(o)
	case *corev1.Namespace:
		s.deleteNamespace(o)
	case *resource.ResourceClaim:
		s.deleteClaim(o)
	case *core.Pod:
		s.remove(object, "")
	default:
		s.remove(object, kindName(object)+" "+model.KeyOf(object).String()+" is deleted")
	}
	return nil
}

func inNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + namespace
}

// deleteNode deletes a node with its pods and devices.
func (s *simulation) deleteNode(node *corev1.Node) {
	for _, pod := range s.world.Pods.List() {
		if pod.Spec.NodeName == node.Name {
			s.end(pod, Evict, "node "+node.Name+" is deleted")
		}
	}
	for _, slice := range s.world.Slices.List() {
		if slice.Spec.NodeName != nil && *slice.Spec.NodeName == node.Name {
			s.world.Slices.Delete(model.Key{Name: slice.Name})
		}
	}
	s.world.Nodes.Delete(model.Key{Name: node.Name})
	s.addDaemonSets()
}

// deleteNamespace deletes a namespace with all that is in it.
func (s *simulation) deleteNamespace(namespace *corev1.Namespace) {
	var content []client.Object
	s.world.Each(func(object client.Object) {
		if object.GetNamespace() == namespace.Name {
			content = append(content, object)
		}
	})
	for _, object := range content {
		if _, there := s.world.Find(object); there {
			s.remove(object, "namespace "+namespace.Name+" is deleted")
		}
	}
	s.world.Namespaces.Delete(model.Key{Name: namespace.Name})
	for key := range s.owners {
		if key.key.Namespace == namespace.Name {
			delete(s.owners, key)
		}
	}
}

// deleteClaim deletes a claim. One that is in use is protected until its pods have ended.
func (s *simulation) deleteClaim(claim *resource.ResourceClaim) {
	if len(claim.Status.ReservedFor) > 0 {
		s.problems["ResourceClaim "+model.KeyOf(claim).String()] = Problem{
			Object: "ResourceClaim " + model.KeyOf(claim).String(), Reason: "it stays until the pods that use it have ended",
		}
		return
	}
	s.remove(claim, "")
}
