package validation

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// metricSource is one kind of source of a metric.
type metricSource struct {
	of    autoscalingv2.MetricSourceType
	name  string
	set   bool
	check func(at *field.Path) field.ErrorList
}

// metric checks the first source of a metric that is set. It must be the only one, and that of the
// type.
func (r autoscalerRules) metric(path *field.Path, m *autoscalingv2.MetricSpec) field.ErrorList {
	var errs field.ErrorList
	var set []metricSource
	known := false
	for _, s := range r.metricSources(m) {
		if s.set {
			set = append(set, s)
		}
		if s.of == m.Type {
			known = true
			if !s.set {
				errs = append(errs, field.Required(path.Child(s.name), "must populate information for the given metric source"))
			}
		}
	}
	if m.Type == "" {
		errs = append(errs, field.Required(path.Child("type"), "must specify a metric source type"))
	}
	if !known {
		errs = append(errs, field.NotSupported(path.Child("type"), m.Type, []autoscalingv2.MetricSourceType{
			autoscalingv2.ContainerResourceMetricSourceType, autoscalingv2.ExternalMetricSourceType,
			autoscalingv2.ObjectMetricSourceType, autoscalingv2.PodsMetricSourceType, autoscalingv2.ResourceMetricSourceType,
		}))
	}
	for i, s := range set {
		if i == 0 {
			errs = append(errs, s.check(path.Child(s.name))...)
		}
		if len(set) > 1 && s.of != m.Type {
			errs = append(errs, field.Forbidden(path.Child(s.name), "must populate the given metric source only"))
		}
	}
	return errs
}

func (r autoscalerRules) metricSources(m *autoscalingv2.MetricSpec) []metricSource {
	return []metricSource{
		{autoscalingv2.ObjectMetricSourceType, "object", m.Object != nil, func(at *field.Path) field.ErrorList {
			s := m.Object
			return join(r.object.reference(at.Child("describedObject"), &s.DescribedObject), metricName(at, s.Metric.Name),
				metricTarget(at, &s.Target, s.Target.Value != nil || s.Target.AverageValue != nil, "averageValue",
					"must set either a target value or averageValue"))
		}},
		{autoscalingv2.ExternalMetricSourceType, "external", m.External != nil, func(at *field.Path) field.ErrorList {
			s := m.External
			errs := join(metricName(at, s.Metric.Name),
				metricTarget(at, &s.Target, s.Target.Value != nil || s.Target.AverageValue != nil, "averageValue",
					"must set either a target value for metric or a per-pod target"))
			if s.Target.Value != nil && s.Target.AverageValue != nil {
				errs = append(errs, field.Forbidden(at.Child("target", "value"),
					"may not set both a target value for metric and a per-pod target"))
			}
			return errs
		}},
		{autoscalingv2.PodsMetricSourceType, "pods", m.Pods != nil, func(at *field.Path) field.ErrorList {
			s := m.Pods
			return join(metricName(at, s.Metric.Name), metricTarget(at, &s.Target, s.Target.AverageValue != nil,
				"averageValue", "must specify a positive target averageValue"))
		}},
		{autoscalingv2.ResourceMetricSourceType, "resource", m.Resource != nil, func(at *field.Path) field.ErrorList {
			return append(metricResource(at, string(m.Resource.Name)), usageTarget(at, &m.Resource.Target)...)
		}},
		{autoscalingv2.ContainerResourceMetricSourceType, "containerResource", m.ContainerResource != nil,
			func(at *field.Path) field.ErrorList { return containerMetric(at, m.ContainerResource) }},
	}
}

func metricName(path *field.Path, name string) field.ErrorList {
	at := path.Child("metric", "name")
	if name == "" {
		return errorList(field.Required(at, "must specify a metric name"))
	}
	return pathSegment(at, name)
}

func metricResource(path *field.Path, name string) field.ErrorList {
	if name != "" {
		return nil
	}
	return errorList(field.Required(path.Child("name"), "must specify a resource name"))
}

func containerMetric(path *field.Path, s *autoscalingv2.ContainerResourceMetricSource) field.ErrorList {
	errs := append(metricResource(path, string(s.Name)), usageTarget(path, &s.Target)...)
	if s.Name != "" {
		errs = append(errs, containerResourceName(path.Child("name"), s.Name)...)
	}
	if s.Container == "" {
		return append(errs, field.Required(path.Child("container"), "must specify a container"))
	}
	return append(errs, dnsLabel(path.Child("container"), s.Container)...)
}

// usageTarget checks the target of a resource that pods use.
func usageTarget(path *field.Path, t *autoscalingv2.MetricTarget) field.ErrorList {
	errs := metricTarget(path, t, t.AverageUtilization != nil || t.AverageValue != nil, "averageUtilization",
		"must set either a target raw value or a target utilization")
	if t.AverageUtilization != nil && t.AverageValue != nil {
		errs = append(errs, field.Forbidden(path.Child("target", "averageValue"),
			"may not set both a target raw value and a target utilization"))
	}
	return errs
}

// metricTarget checks the target of a metric. Without a value that is needed, it returns message
// for the named field.
func metricTarget(path *field.Path, t *autoscalingv2.MetricTarget, has bool, name, message string) field.ErrorList {
	at := path.Child("target")
	var errs field.ErrorList
	switch t.Type {
	case autoscalingv2.UtilizationMetricType, autoscalingv2.ValueMetricType, autoscalingv2.AverageValueMetricType:
	case "":
		errs = append(errs, field.Required(at.Child("type"), "must specify a metric target type"))
		fallthrough
	default:
		errs = append(errs, field.Invalid(at.Child("type"), t.Type, "must be either Utilization, Value, or AverageValue"))
	}
	if t.Value != nil {
		errs = append(errs, check(t.Value.Sign() > 0, at.Child("value"), t.Value.String(), "must be positive")...)
	}
	if t.AverageValue != nil {
		errs = append(errs, check(t.AverageValue.Sign() > 0, at.Child("averageValue"), t.AverageValue.String(),
			"must be positive")...)
	}
	if u := t.AverageUtilization; u != nil {
		errs = append(errs, check(*u >= 1, at.Child("averageUtilization"), *u, "must be greater than 0")...)
	}
	if !has {
		errs = append(errs, field.Required(at.Child(name), message))
	}
	return errs
}
