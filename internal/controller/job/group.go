package job

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Annotations of a Job.
const (
	// templateAnnotation names the Workload template for the Job's PodGroup. On a Job with a
	// controller it means that the Workload belongs to that controller, and the PodGroup to the Job.
	templateAnnotation = "scheduling.k8s.io/group-template-name"
	// parentAnnotation names the CompositePodGroup of which the PodGroup is a child, if the Workload
	// is not the Job's own.
	parentAnnotation = "scheduling.k8s.io/parent-compositepodgroup"
)

// Grouping holds the existing Workloads and PodGroups of a Job.
type Grouping struct {
	// Workloads have a controllerRef to the Job (or to its controller, if that delegates the
	// PodGroup to the Job). They are the Job's own or created by users: see Concerns.
	Workloads []*scheduling.Workload
	Groups    []*scheduling.PodGroup // PodGroups controlled by the Job
}

// GroupStep is the next change of a Job's PodGroup. At most one of the objects to write is set.
type GroupStep struct {
	Group string // PodGroup for new pods; "" for none
	Wait  bool   // no pod may be created yet
	Why   string // why there is no PodGroup, if users must act

	MakeWorkload *scheduling.Workload
	// MakeGroup is the PodGroup to create from its existing Workload.
	MakeGroup *scheduling.PodGroup
	Resize    *scheduling.PodGroup // PodGroup to resize to MinCount
	MinCount  int32
	Drop      []*core.Pod // pods that prevent the removal of a PodGroup

	DeleteGroup    *scheduling.PodGroup
	DeleteWorkload *scheduling.Workload
}

// WaitFor changes the plan to create no pods and to delete those that the step must have deleted.
// Each pod is deleted once, because deleted pods are counted.
func (p *Plan) WaitFor(step GroupStep) {
	p.Create = nil
	p.Drop = slices.Clip(p.Drop)
	for _, pod := range step.Drop {
		if !slices.Contains(p.Drop, pod) {
			p.Drop = append(p.Drop, pod)
		}
	}
}

// unmanagedGroup reports whether this controller must not create a PodGroup: the Job does not
// request one, its template names one, or pods already run without one.
func unmanagedGroup(job *batch.Job, g Grouping, active []*core.Pod) bool {
	if job.Spec.Template.Spec.SchedulingGroup != nil {
		return true
	}
	if len(g.Groups) > 0 {
		return false
	}
	asked := job.Spec.Scheduling != nil || len(g.Workloads) > 0 || isDelegated(job)
	return !asked || slices.ContainsFunc(active, func(pod *core.Pod) bool { return pod.Spec.SchedulingGroup == nil })
}

// isDelegated reports whether the Job's controller has a Workload and delegates the PodGroup to the
// Job.
func isDelegated(job *batch.Job) bool {
	return metav1.GetControllerOfNoCopy(job) != nil && job.Annotations[templateAnnotation] != ""
}

// Concerns reports whether the Workload, with a controllerRef to the Job or its controller, is for
// the Job. A Workload with another controller UID belongs to an earlier Job of the same name.
func Concerns(job *batch.Job, w *scheduling.Workload) bool {
	return metav1.IsControlledBy(w, job) || isDelegated(job) || metav1.GetControllerOfNoCopy(w) == nil
}

// NextGroupStep returns the next step for the Job's Workload and PodGroup. They are created in this
// order before the pods, and deleted in reverse order after the pods.
func NextGroupStep(job *batch.Job, plan Plan, g Grouping) GroupStep {
	if unmanagedGroup(job, g, plan.Active) {
		return GroupStep{}
	}
	if plan.Idle {
		if len(plan.Active) > 0 {
			return GroupStep{}
		}
		return removal(job, g)
	}
	if len(g.Groups) > 0 {
		return keep(job, plan, g)
	}
	if len(plan.Create) > 0 {
		return creation(job, plan.Room, g)
	}
	if parallelism(job) == 0 && job.Status.StartTime == nil {
		return GroupStep{Why: "parallelism is 0, and a PodGroup is made with the first pods"}
	}
	return GroupStep{}
}

// removal deletes the PodGroup, and then the Workload. PodGroups are protected while pods name
// them.
func removal(job *batch.Job, g Grouping) GroupStep {
	for _, group := range g.Groups {
		if group.DeletionTimestamp == nil {
			return GroupStep{DeleteGroup: group}
		}
	}
	if len(g.Groups) > 0 {
		return GroupStep{}
	}
	for _, workload := range g.Workloads {
		if metav1.IsControlledBy(workload, job) && workload.DeletionTimestamp == nil {
			return GroupStep{DeleteWorkload: workload}
		}
	}
	return GroupStep{}
}

// keep uses the existing PodGroup for new pods, and limits its gang to the pods that the Job can
// still have, because finished pods do not return. A PodGroup that is being deleted gets no more
// pods, and pods without a node are recreated after it.
func keep(job *batch.Job, plan Plan, g Grouping) GroupStep {
	group := g.Groups[0]
	waiting := slices.DeleteFunc(slices.Clone(plan.Active), func(pod *core.Pod) bool { return pod.Spec.NodeName != "" })
	if group.DeletionTimestamp != nil {
		return GroupStep{Wait: true, Drop: waiting}
	}
	step := GroupStep{Group: group.Name}
	gang := group.Spec.SchedulingPolicy.Gang
	if gang == nil || plan.Room == 0 {
		return step
	}
	// A smaller gang matters only to pods without a node.
	size := gangSize(plan.Room, desiredSize(job, group, g))
	if size > gang.MinCount || size < gang.MinCount && len(waiting)+len(plan.Create) > 0 {
		step.Resize, step.MinCount = group, size
	}
	return step
}

// desiredSize returns the requested gang size for an existing PodGroup; nil means as many pods as
// the Job can have. Templates of users do not change, and when one is deleted so is its PodGroup.
func desiredSize(job *batch.Job, group *scheduling.PodGroup, g Grouping) *int32 {
	ref := group.Spec.WorkloadRef
	for _, w := range g.Workloads {
		if ref == nil || ref.WorkloadName != w.Name {
			continue
		}
		for _, t := range templatesOf(w) {
			if t.Name == ref.TemplateName {
				return desiredSizeOf(job, w, t)
			}
		}
	}
	if job.Spec.Scheduling != nil {
		return ownDesiredSize(job)
	}
	return &group.Spec.SchedulingPolicy.Gang.MinCount
}

// desiredSizeOf returns the gang size requested by this template. The Job may have changed since it
// created its own template.
func desiredSizeOf(job *batch.Job, workload *scheduling.Workload, t *scheduling.PodGroupTemplate) *int32 {
	if metav1.IsControlledBy(workload, job) {
		return ownDesiredSize(job)
	}
	if gang := t.SchedulingPolicy.Gang; gang != nil {
		return &gang.MinCount
	}
	return nil
}

func ownDesiredSize(job *batch.Job) *int32 {
	if s := job.Spec.Scheduling; s != nil && s.SchedulingPolicy != nil && s.SchedulingPolicy.Gang != nil {
		return s.SchedulingPolicy.Gang.MinCount
	}
	return nil
}

// gangSize returns how many pods are placed together: the requested number, limited by what the Job
// can have, and at least one.
func gangSize(room int, wish *int32) int32 {
	return max(1, min(int32(room), ptr.Deref(wish, int32(room))))
}

func creation(job *batch.Job, room int, g Grouping) GroupStep {
	workload, why := choose(job, g.Workloads)
	if why != "" {
		return GroupStep{Wait: true, Why: why}
	}
	if workload == nil {
		return GroupStep{Wait: true, MakeWorkload: newWorkload(job, room)}
	}
	template, why := pick(job, workload)
	if why != "" {
		return GroupStep{Wait: true, Why: why}
	}
	return GroupStep{Wait: true, MakeGroup: newPodGroup(job, workload, template, room)}
}

// choose returns the Workload for the PodGroup: the Job's own, or that of users or of the Job's
// controller. It returns nil if one must be created.
func choose(job *batch.Job, workloads []*scheduling.Workload) (workload *scheduling.Workload, why string) {
	for _, w := range workloads {
		if metav1.IsControlledBy(w, job) {
			return w, ""
		}
	}
	switch {
	case len(workloads) > 1:
		return nil, fmt.Sprintf("%d Workloads name it in their controllerRef", len(workloads))
	case len(workloads) == 1:
		return workloads[0], ""
	case isDelegated(job):
		return nil, "its controller has no Workload yet"
	}
	return nil, ""
}

// pick returns the template named by the Job, or the only one.
func pick(job *batch.Job, workload *scheduling.Workload) (template *scheduling.PodGroupTemplate, why string) {
	templates := templatesOf(workload)
	name := job.Annotations[templateAnnotation]
	for _, t := range templates {
		if t.Name == name || name == "" && len(templates) == 1 {
			return t, ""
		}
	}
	if name == "" {
		return nil, fmt.Sprintf("Workload %s has %d templates, and the Job has no annotation %s", workload.Name,
			len(templates), templateAnnotation)
	}
	return nil, fmt.Sprintf("Workload %s has no template %q", workload.Name, name)
}
