package validation

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
)

// ValidateStatefulSet checks a new StatefulSet. Its name must be a DNS label, because the host
// names of the pods start with it.
func ValidateStatefulSet(s *apps.StatefulSet) field.ErrorList {
	path := field.NewPath("spec")
	return join(
		metadata(&s.ObjectMeta, namespaced, apivalidation.NameIsDNSLabel),
		statefulSetSpec(path, &s.Spec),
		optionalForm(path.Child("serviceName"), s.Spec.ServiceName, validation.IsDNS1123Label),
		each(
			path.Child("volumeClaimTemplates"),
			s.Spec.VolumeClaimTemplates,
			func(at *field.Path, c *corev1.PersistentVolumeClaim) field.ErrorList {
				return volumeClaimSpec(at.Child("spec"), &c.Spec, nil)
			},
		),
	)
}

// ValidateStatefulSetUpdate checks a change of a StatefulSet. The names of its pods and their
// volumes are immutable.
func ValidateStatefulSetUpdate(s, old *apps.StatefulSet) field.ErrorList {
	path := field.NewPath("spec")
	return join(
		metadataUpdate(&s.ObjectMeta, &old.ObjectMeta),
		statefulSetSpec(path, &s.Spec),
		immutableField(path.Child("selector"), s.Spec.Selector, old.Spec.Selector),
		immutableField(path.Child("volumeClaimTemplates"), s.Spec.VolumeClaimTemplates, old.Spec.VolumeClaimTemplates),
		immutableField(path.Child("serviceName"), s.Spec.ServiceName, old.Spec.ServiceName),
		immutableField(path.Child("podManagementPolicy"), s.Spec.PodManagementPolicy, old.Spec.PodManagementPolicy),
	)
}

// ValidateStatefulSetStatusUpdate checks the status that the controller reports.
func ValidateStatefulSetStatusUpdate(s, old *apps.StatefulSet) field.ErrorList {
	path, status := field.NewPath("status"), &s.Status
	return join(
		metadataUpdate(&s.ObjectMeta, &old.ObjectMeta),
		nonNegative(path.Child("observedGeneration"), status.ObservedGeneration),
		counts(path, status.Replicas, status.ReadyReplicas, status.AvailableReplicas, []count{
			{"currentReplicas", status.CurrentReplicas, true},
			{"updatedReplicas", status.UpdatedReplicas, true},
		}),
		collisions(path, status.CollisionCount, old.Status.CollisionCount),
	)
}

// statefulSetSpec checks the spec, except what applies only to a new StatefulSet.
func statefulSetSpec(path *field.Path, spec *apps.StatefulSetSpec) field.ErrorList {
	errs := join(
		invalidUnless(path.Child("podManagementPolicy"), spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement,
			appsv1.ParallelPodManagement),
		statefulSetStrategy(path.Child("updateStrategy"), &spec.UpdateStrategy),
		nonNegative(path.Child("replicas"), ptr.Deref(spec.Replicas, 0)),
		nonNegative(path.Child("minReadySeconds"), spec.MinReadySeconds),
		requiredSelector(path.Child("selector"), spec.Selector),
		selectedTemplate(path, spec.Selector, statefulTemplate(spec), podTemplate),
		alwaysRestarted(path.Child("template"), &spec.Template),
	)
	if policy := spec.PersistentVolumeClaimRetentionPolicy; policy != nil {
		at := path.Child("persistentVolumeClaimRetentionPolicy")
		for _, p := range []struct {
			field string
			value appsv1.PersistentVolumeClaimRetentionPolicyType
		}{{"whenDeleted", policy.WhenDeleted}, {"whenScaled", policy.WhenScaled}} {
			errs = append(errs, oneOf(at.Child(p.field), p.value,
				appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType)...)
		}
	}
	if spec.Ordinals != nil {
		errs = append(errs, nonNegative(path.Child("ordinals", "start"), spec.Ordinals.Start)...)
	}
	return errs
}

func statefulSetStrategy(path *field.Path, strategy *appsv1.StatefulSetUpdateStrategy) field.ErrorList {
	rolling := path.Child("rollingUpdate")
	switch strategy.Type {
	case appsv1.OnDeleteStatefulSetStrategyType:
		if strategy.RollingUpdate != nil {
			return errorList(field.Invalid(rolling, field.OmitValueType{}, "may not be set where `type` is OnDelete"))
		}
		return nil
	case appsv1.RollingUpdateStatefulSetStrategyType:
		if strategy.RollingUpdate == nil {
			return nil
		}
		return join(
			nonNegative(rolling.Child("partition"), ptr.Deref(strategy.RollingUpdate.Partition, 0)),
			positiveShare(rolling.Child("maxUnavailable"), strategy.RollingUpdate.MaxUnavailable),
		)
	default:
		return invalidUnless(path, strategy.Type, appsv1.RollingUpdateStatefulSetStrategyType,
			appsv1.OnDeleteStatefulSetStrategyType)
	}
}

// positiveShare checks an optional number or percentage, above 0 and at most 100%.
func positiveShare(path *field.Path, value *intstr.IntOrString) field.ErrorList {
	if value == nil {
		return nil
	}
	if errs := intOrPercent(path, *value); len(errs) > 0 {
		return errs
	}
	n, _ := intstr.GetScaledValueFromIntOrPercent(value, 100, true)
	return join(
		check(n > 0, path, value.String(), "may not be 0"),
		check(value.Type == intstr.Int || n <= 100, path, value.String(), "must not be greater than 100%"),
	)
}

// statefulTemplate returns the template as completed by the controller: with the names of the pods,
// and a volume for each claim template, which replaces one with the same name.
func statefulTemplate(spec *apps.StatefulSetSpec) *core.PodTemplateSpec {
	template := spec.Template
	template.Spec.Hostname, template.Spec.Subdomain = "", ""
	if len(spec.VolumeClaimTemplates) == 0 {
		return &template
	}
	claims := map[string]bool{}
	for i := range spec.VolumeClaimTemplates {
		claims[spec.VolumeClaimTemplates[i].Name] = true
	}
	volumes := make([]corev1.Volume, 0, len(template.Spec.Volumes)+len(claims))
	seen := map[string]bool{}
	for _, v := range template.Spec.Volumes {
		if claims[v.Name] {
			if seen[v.Name] {
				continue
			}
			seen[v.Name] = true
			v = claimVolume(v.Name)
		}
		volumes = append(volumes, v)
	}
	for i := range spec.VolumeClaimTemplates {
		if name := spec.VolumeClaimTemplates[i].Name; !seen[name] {
			seen[name] = true
			volumes = append(volumes, claimVolume(name))
		}
	}
	template.Spec.Volumes = volumes
	return &template
}

func claimVolume(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
	}}
}
