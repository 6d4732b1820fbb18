package job

import (
	"fmt"
	"hash/fnv"
	"slices"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"

	batch "github.com/allot-dev/allot/api/batch/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// groupName returns the name of a Job's Workload and PodGroup. It differs for a later Job of the
// same name.
func groupName(job *batch.Job) string {
	hash := fnv.New32a()
	hash.Write([]byte(job.UID))
	suffix := "-" + rand.SafeEncodeString(fmt.Sprint(hash.Sum32()))
	return job.Name[:min(len(job.Name), validation.DNS1123SubdomainMaxLength-len(suffix))] + suffix
}

// ownTemplate is the name of the template in a Workload created by this controller.
const ownTemplate = "pods"

// newWorkload returns the Workload for the Job's spec.scheduling.
func newWorkload(job *batch.Job, room int) *scheduling.Workload {
	template := scheduling.PodGroupTemplate{
		Name:              ownTemplate,
		SchedulingPolicy:  schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}},
		PriorityClassName: job.Spec.Template.Spec.PriorityClassName,
	}
	s := job.Spec.Scheduling
	if p := s.SchedulingPolicy; p != nil && p.Gang != nil {
		gang := &schedulingv1beta1.GangSchedulingPolicy{MinCount: gangSize(room, p.Gang.MinCount)}
		template.SchedulingPolicy = schedulingv1beta1.PodGroupSchedulingPolicy{Gang: gang}
	}
	if c := s.SchedulingConstraints; c != nil && len(c.Topology) > 0 {
		template.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{}
		for _, t := range c.Topology {
			template.SchedulingConstraints.Topology = append(template.SchedulingConstraints.Topology,
				schedulingv1beta1.TopologyConstraint{Key: t.Key})
		}
	}
	if d := s.DisruptionMode; d != nil && d.All != nil {
		template.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
	} else if d != nil && d.Single != nil {
		template.DisruptionMode = &schedulingv1beta1.DisruptionMode{Single: &schedulingv1beta1.SingleDisruptionMode{}}
	}
	for _, c := range s.ResourceClaims {
		template.ResourceClaims = append(template.ResourceClaims, scheduling.PodGroupResourceClaim{
			PodGroupResourceClaim: schedulingv1beta1.PodGroupResourceClaim{
				Name: c.Name, ResourceClaimName: c.ResourceClaimName, ResourceClaimTemplateName: c.ResourceClaimTemplateName,
			},
		})
	}
	return &scheduling.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Namespace, Name: groupName(job),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, kind)},
		},
		Spec: scheduling.WorkloadSpec{
			ControllerRef: &schedulingv1beta1.TypedLocalObjectReference{
				APIGroup: kind.Group,
				Kind:     kind.Kind,
				Name:     job.Name,
			},
			PodGroupTemplates: []scheduling.PodGroupTemplate{template},
		},
	}
}

// newPodGroup returns a PodGroup for the template, with a gang size that the Job can have. It is
// owned by the Job and by the Job's own Workload.
func newPodGroup(
	job *batch.Job, workload *scheduling.Workload, template *scheduling.PodGroupTemplate, room int,
) *scheduling.PodGroup {
	t := template.DeepCopy()
	group := &scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Namespace, Name: groupName(job),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, kind)},
		},
		Spec: scheduling.PodGroupSpec{
			WorkloadRef:           &schedulingv1beta1.WorkloadReference{WorkloadName: workload.Name, TemplateName: t.Name},
			SchedulingPolicy:      t.SchedulingPolicy,
			SchedulingConstraints: t.SchedulingConstraints,
			ResourceClaims:        t.ResourceClaims,
			DisruptionMode:        t.DisruptionMode,
			PriorityClassName:     t.PriorityClassName,
			Priority:              t.Priority,
			PreemptionPolicy:      t.PreemptionPolicy,
		},
	}
	if gang := group.Spec.SchedulingPolicy.Gang; gang != nil {
		gang.MinCount = gangSize(room, desiredSizeOf(job, workload, template))
	}
	if parent := job.Annotations[parentAnnotation]; parent != "" && !metav1.IsControlledBy(workload, job) {
		group.Spec.ParentCompositePodGroupName = &parent
	}
	if metav1.IsControlledBy(workload, job) {
		group.OwnerReferences = append(group.OwnerReferences, metav1.OwnerReference{
			APIVersion: schedulingv1beta1.SchemeGroupVersion.String(), Kind: "Workload", Name: workload.Name, UID: workload.UID,
		})
	}
	return group
}

// templatesOf returns the templates of PodGroups at all levels of a Workload. Each has a name of its
// own.
func templatesOf(workload *scheduling.Workload) []*scheduling.PodGroupTemplate {
	var all []*scheduling.PodGroupTemplate
	add := func(list []scheduling.PodGroupTemplate) {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	var descend func(list []scheduling.CompositePodGroupTemplate)
	descend = func(list []scheduling.CompositePodGroupTemplate) {
		for i := range list {
			add(list[i].PodGroupTemplates)
			descend(list[i].CompositePodGroupTemplates)
		}
	}
	add(workload.Spec.PodGroupTemplates)
	descend(workload.Spec.CompositePodGroupTemplates)
	return all
}

// workloadKeys returns the index keys of a Workload, by its controllerRef.
func workloadKeys(w *scheduling.Workload) []string {
	if ref := w.Spec.ControllerRef; ref != nil {
		return []string{workloadKey(w.Namespace, schema.GroupKind{Group: ref.APIGroup, Kind: ref.Kind}, ref.Name)}
	}
	return nil
}

func workloadKey(namespace string, kind schema.GroupKind, name string) string {
	return namespace + "/" + kind.String() + "/" + name
}

// workloadKeyOf returns the key of the Workloads for a Job's PodGroup.
func workloadKeyOf(job *batch.Job) string {
	if owner := metav1.GetControllerOfNoCopy(job); owner != nil && isDelegated(job) {
		return workloadKey(job.Namespace, schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind(), owner.Name)
	}
	return workloadKey(job.Namespace, kind.GroupKind(), job.Name)
}

// IsFor reports whether the Workload is for the Job, by its controllerRef.
func IsFor(job *batch.Job, w *scheduling.Workload) bool {
	return slices.Contains(workloadKeys(w), workloadKeyOf(job)) && Concerns(job, w)
}
