package gates

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	upstreamv1alpha3 "k8s.io/api/resource/v1alpha3"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/features"
)

// rule drops the fields of one feature from an object.
type rule struct {
	gate features.Gate
	drop func()
}

// Drop removes from obj the fields of features that are off and that old does not use; old is nil
// if obj is new.
func Drop(on features.Set, obj, old runtime.Object) {
	if on == (features.Set{}) {
		return
	}
	for _, r := range rulesOf(obj) {
		if !on.On(r.gate) && !uses(old, r.gate) {
			r.drop()
		}
	}
}

// uses reports whether an object uses a feature, in its spec or its status.
func uses(old runtime.Object, gate features.Gate) bool {
	if old == nil {
		return false
	}
	dropped := old.DeepCopyObject()
	for _, r := range rulesOf(dropped) {
		if r.gate == gate {
			r.drop()
		}
	}
	return !apiequality.Semantic.DeepEqual(dropped, old)
}

// rulesOf returns the rules for an object.
func rulesOf(obj runtime.Object) []rule {
	if spec, _ := podSpec(obj); spec != nil {
		rules := []rule{{features.GenericWorkload, func() { spec.SchedulingGroup = nil }}}
		switch o := obj.(type) {
		case *batch.Job:
			rules = append(rules, rule{features.GenericWorkload, func() { o.Spec.Scheduling = nil }})
		case *batch.CronJob:
			rules = append(rules, rule{features.GenericWorkload, func() { o.Spec.JobTemplate.Spec.Scheduling = nil }})
		case *core.Pod:
			rules = append(rules,
				rule{features.NodeAllocatableResources, func() { o.Status.NodeAllocatableResourceClaimStatuses = nil }},
				rule{features.ExtendedResource, func() { o.Status.ExtendedResourceClaimStatus = nil }},
				rule{features.ResourceHealthStatus, func() { dropHealth(&o.Status) }},
				rule{features.ResourceHealthStatusMessage, func() { dropHealthMessages(&o.Status) }},
			)
		}
		return rules
	}
	switch o := obj.(type) {
	case *resource.ResourceClaim:
		return append(claimRules(&o.Spec), claimStatusRules(&o.Status)...)
	case *resource.ResourceClaimTemplate:
		return claimRules(&o.Spec.Spec)
	case *resourcev1alpha3.ClusterResourceClaimTemplate:
		return claimRules(&o.Spec.Spec)
	case *resourcev1.ResourceSlice:
		return sliceRules(&o.Spec)
	case *upstreamv1alpha3.ResourcePoolStatusRequest:
		return []rule{{features.PartitionTypes, func() { o.Spec.DefaultPartitionTypeAttribute = nil }}}
	case *resourcev1.DeviceClass:
		return []rule{{features.ExtendedResource, func() { o.Spec.ExtendedResourceName = nil }}}
	}
	return nil
}

// Refuse returns an error for each field of obj whose feature is off and which old does not use.
func Refuse(on features.Set, obj, old runtime.Object) field.ErrorList {
	if on == (features.Set{}) {
		return nil
	}
	var errs field.ErrorList
	before := map[features.Gate]bool{}
	for _, u := range rejectedFields(old) {
		before[u.gate] = true
	}
	for _, u := range rejectedFields(obj) {
		if !on.On(u.gate) && !before[u.gate] {
			errs = append(errs, field.Forbidden(u.path, fmt.Sprintf("feature %s is off", u.gate)))
		}
	}
	return errs
}

// usedField is a field that is set.
type usedField struct {
	gate features.Gate
	path *field.Path
}

// rejectedFields returns the fields of an object that are rejected while their features are off.
func rejectedFields(obj runtime.Object) []usedField {
	if spec, path := podSpec(obj); spec != nil {
		return append(podUses(path.Child("resourceClaims"), spec.ResourceClaims), jobUses(obj)...)
	}
	switch o := obj.(type) {
	case *scheduling.PodGroup:
		return groupUses(field.NewPath("spec", "resourceClaims"), o.Spec.ResourceClaims)
	case *v1alpha3.CompositePodGroup:
		return treeUses(field.NewPath("spec", "resourceClaims"), o.Spec.ResourceClaims)
	case *scheduling.Workload:
		path := field.NewPath("spec")
		return append(templateUses(path, o.Spec.PodGroupTemplates), compositeUses(path, o.Spec.CompositePodGroupTemplates)...)
	}
	return nil
}

func templateUses(path *field.Path, list []scheduling.PodGroupTemplate) []usedField {
	var out []usedField
	for i := range list {
		out = append(
			out,
			groupUses(path.Child("podGroupTemplates").Index(i).Child("resourceClaims"), list[i].ResourceClaims)...)
	}
	return out
}

func compositeUses(path *field.Path, list []scheduling.CompositePodGroupTemplate) []usedField {
	var out []usedField
	for i := range list {
		at := path.Child("compositePodGroupTemplates").Index(i)
		out = append(out, treeUses(at.Child("resourceClaims"), list[i].ResourceClaims)...)
		out = append(out, templateUses(at, list[i].PodGroupTemplates)...)
		out = append(out, compositeUses(at, list[i].CompositePodGroupTemplates)...)
	}
	return out
}

func podUses(path *field.Path, list []core.PodResourceClaim) []usedField {
	var out []usedField
	for i := range list {
		if list[i].PodGroupResourceClaim != nil {
			out = append(out, usedField{features.WorkloadClaims, path.Index(i).Child("podGroupResourceClaim")})
		}
		if list[i].ClusterResourceClaimTemplateName != nil {
			out = append(out, usedField{features.ClusterTemplates, path.Index(i).Child("clusterResourceClaimTemplateName")})
		}
	}
	return out
}

// jobUses returns the claims of the PodGroup that is created for a Job, or for those of a CronJob.
func jobUses(obj runtime.Object) []usedField {
	var spec *batch.JobSpec
	path := field.NewPath("spec")
	switch o := obj.(type) {
	case *batch.Job:
		spec = &o.Spec
	case *batch.CronJob:
		spec, path = &o.Spec.JobTemplate.Spec, path.Child("jobTemplate", "spec")
	}
	if spec == nil || spec.Scheduling == nil || len(spec.Scheduling.ResourceClaims) == 0 {
		return nil
	}
	return []usedField{{features.WorkloadClaims, path.Child("scheduling", "resourceClaims")}}
}

// treeUses returns the features of claims of a tree of groups. The generated claims have
// spec.reservedFor.
func treeUses(path *field.Path, list []scheduling.PodGroupResourceClaim) []usedField {
	out := groupUses(path, list)
	if len(list) > 0 {
		out = append(out, usedField{features.ReservedForWorkloads, path})
	}
	return out
}

func groupUses(path *field.Path, list []scheduling.PodGroupResourceClaim) []usedField {
	var out []usedField
	if len(list) > 0 {
		out = append(out, usedField{features.WorkloadClaims, path})
	}
	for i := range list {
		if list[i].ClusterResourceClaimTemplateName != nil {
			out = append(out, usedField{features.ClusterTemplates, path.Index(i).Child("clusterResourceClaimTemplateName")})
		}
	}
	return out
}

// podSpec returns the spec of a pod, or of a workload's pod template, and its path.
func podSpec(obj runtime.Object) (*core.PodSpec, *field.Path) {
	template := field.NewPath("spec", "template", "spec")
	switch o := obj.(type) {
	case *core.Pod:
		return &o.Spec, field.NewPath("spec")
	case *core.PodTemplate:
		return &o.Template.Spec, field.NewPath("template", "spec")
	case *core.ReplicationController:
		if o.Spec.Template != nil {
			return &o.Spec.Template.Spec, template
		}
	case *apps.Deployment:
		return &o.Spec.Template.Spec, template
	case *apps.ReplicaSet:
		return &o.Spec.Template.Spec, template
	case *apps.StatefulSet:
		return &o.Spec.Template.Spec, template
	case *apps.DaemonSet:
		return &o.Spec.Template.Spec, template
	case *batch.Job:
		return &o.Spec.Template.Spec, template
	case *batch.CronJob:
		return &o.Spec.JobTemplate.Spec.Template.Spec, field.NewPath("spec", "jobTemplate", "spec", "template", "spec")
	}
	return nil, nil
}
