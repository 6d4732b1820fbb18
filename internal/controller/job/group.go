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

// templateAnnotation on a Job names the template of the Workload from which its PodGroup is made. On a Job with a controller
// it says that the Workload is that controller's, and the PodGroup the Job's.
const templateAnnotation = "scheduling.k8s.io/group-template-name"

// Grouping is what exists of Workloads and PodGroups around a Job.
type Grouping struct {
	// Workloads have a controllerRef that names the Job (or, if its controller leaves the PodGroup to it, that controller),
	// and are the Job's own or of users: see Concerns.
	Workloads []*scheduling.Workload
	Groups    []*scheduling.PodGroup // that the Job controls
}

// GroupStep is the next thing to do about a Job's PodGroup; at most one of the objects to write is there.
type GroupStep struct {
	Group string // that new pods join; "" for none
	Wait  bool   // no pod may be created yet
	Why   string // there is no PodGroup yet, where users have to do something about it

	MakeWorkload *scheduling.Workload
	// MakeGroup is made from its Workload, which exists.
	MakeGroup *scheduling.PodGroup
	Resize    *scheduling.PodGroup // its gang to MinCount
	MinCount  int32
	Drop      []*core.Pod // that keep a PodGroup which has to go

	DeleteGroup    *scheduling.PodGroup
	DeleteWorkload *scheduling.Workload
}

// groupless says that the Job's pods are in no PodGroup of this controller's making: nobody asks for one, the pod template
// names one that users keep, or pods run without already.
func groupless(job *batch.Job, g Grouping, active []*core.Pod) bool {
	if job.Spec.Template.Spec.SchedulingGroup != nil {
		return true
	}
	if len(g.Groups) > 0 {
		return false
	}
	asked := job.Spec.Scheduling != nil || len(g.Workloads) > 0 || isDelegated(job)
	return !asked || slices.ContainsFunc(active, func(pod *core.Pod) bool { return pod.Spec.SchedulingGroup == nil })
}

// isDelegated says that the Job's controller has a Workload, and leaves the PodGroup to the Job.
func isDelegated(job *batch.Job) bool {
	return metav1.GetControllerOfNoCopy(job) != nil && job.Annotations[templateAnnotation] != ""
}

// Concerns says that the Workload, whose controllerRef names the Job or its controller, is for the Job. One that is controlled
// by something else is that of an earlier Job of the same name.
func Concerns(job *batch.Job, w *scheduling.Workload) bool {
	return metav1.IsControlledBy(w, job) || isDelegated(job) || metav1.GetControllerOfNoCopy(w) == nil
}

// NextGroupStep decides what becomes of the Job's Workload and PodGroup. They are made in this order, before the pods, and go
// in the other order, after the pods.
func NextGroupStep(job *batch.Job, plan Plan, g Grouping) GroupStep {
	if groupless(job, g, plan.Active) {
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

// removal takes the PodGroup away, and the Workload when that is gone. PodGroups are protected while pods name them.
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

// keep has new pods join the PodGroup there is, and its gang be no larger than the Job still can be: what has ended will
// not come back. A PodGroup that is being deleted gets no more pods, and those that wait for a node are made anew after it.
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
	// A smaller gang matters only to pods that wait for a node.
	size := gangSize(plan.Room, wish(job, group, g))
	if size > gang.MinCount || size < gang.MinCount && len(waiting)+len(plan.Create) > 0 {
		step.Resize, step.MinCount = group, size
	}
	return step
}

// wish is the size that the gang of an existing PodGroup should have, if the Job can have so many pods; nil for as many as
// it can have. Users' templates stay as they are, and when one is gone so does its PodGroup.
func wish(job *batch.Job, group *scheduling.PodGroup, g Grouping) *int32 {
	ref := group.Spec.WorkloadRef
	for _, w := range g.Workloads {
		if ref == nil || ref.WorkloadName != w.Name {
			continue
		}
		for i := range w.Spec.PodGroupTemplates {
			if t := &w.Spec.PodGroupTemplates[i]; t.Name == ref.TemplateName {
				return wishOf(job, w, t)
			}
		}
	}
	if job.Spec.Scheduling != nil {
		return ownWish(job)
	}
	return &group.Spec.SchedulingPolicy.Gang.MinCount
}

// wishOf is the size of a gang that is made from this template. The Job may have changed its mind since it made its own.
func wishOf(job *batch.Job, workload *scheduling.Workload, t *scheduling.PodGroupTemplate) *int32 {
	if metav1.IsControlledBy(workload, job) {
		return ownWish(job)
	}
	if gang := t.SchedulingPolicy.Gang; gang != nil {
		return &gang.MinCount
	}
	return nil
}

func ownWish(job *batch.Job) *int32 {
	if s := job.Spec.Scheduling; s != nil && s.SchedulingPolicy != nil && s.SchedulingPolicy.Gang != nil {
		return s.SchedulingPolicy.Gang.MinCount
	}
	return nil
}

// gangSize is how many pods are placed together: as many as are wished, but no more than the Job can have, and at least one.
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

// choose finds the Workload that the PodGroup is made from: the Job's own, else that of users, or of the Job's controller.
// It is nil when one has to be made.
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

// pick finds the template: the one that the Job names, else the only one.
func pick(job *batch.Job, workload *scheduling.Workload) (template *scheduling.PodGroupTemplate, why string) {
	templates := workload.Spec.PodGroupTemplates
	name := job.Annotations[templateAnnotation]
	for i := range templates {
		if templates[i].Name == name || name == "" && len(templates) == 1 {
			return &templates[i], ""
		}
	}
	if name == "" {
		return nil, fmt.Sprintf("Workload %s has %d templates, and the Job has no annotation %s", workload.Name, len(templates), templateAnnotation)
	}
	return nil, fmt.Sprintf("Workload %s has no template %q", workload.Name, name)
}
