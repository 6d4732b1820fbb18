package main

import (
	"encoding/json"

	resourcev1 "k8s.io/api/resource/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// limit is a constraint on a model or a property that does not follow from its Go type.
type limit struct {
	maxItems  int
	maxLength int
	minimum   *float64
	pattern   string
	enum      []string
	rules     []rule
	// of the items of a list
	items *limit
	// list type and key of what are lists by key
	mapKey string
}

type rule struct{ cel, message string }

func (l limit) apply(s *apiextensionsv1.JSONSchemaProps) {
	if l.maxItems > 0 {
		s.MaxItems = new(int64(l.maxItems))
	}
	if l.maxLength > 0 {
		s.MaxLength = new(int64(l.maxLength))
	}
	s.Minimum = l.minimum
	s.Pattern = l.pattern
	for _, value := range l.enum {
		text, _ := json.Marshal(value) // marshaling a string cannot fail
		s.Enum = append(s.Enum, apiextensionsv1.JSON{Raw: text})
	}
	for _, r := range l.rules {
		s.XValidations = append(s.XValidations, apiextensionsv1.ValidationRule{Rule: r.cel, Message: r.message})
	}
	if l.items != nil {
		l.items.apply(s.Items.Schema)
	}
	if l.mapKey != "" {
		s.XListType, s.XListMapKeys = new("map"), []string{l.mapKey}
	}
}

const (
	label     = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	subdomain = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// "request" or "request/subrequest".
	reference = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(/[a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
)

// limits returns the constraints of ResourceClaims in Kubernetes 1.37. Values that are not in an
// enumeration would be rejected for each copy.
func limits() map[string]limit {
	const resource, meta = "io.k8s.api.resource.v1.", "io.k8s.apimachinery.pkg.apis.meta.v1."
	name := limit{maxLength: validation.DNS1123LabelMaxLength, pattern: label}
	domain := limit{maxLength: validation.DNS1123SubdomainMaxLength, pattern: subdomain}
	requests := limit{
		maxItems: resourcev1.DeviceRequestsMaxSize,
		items:    &limit{maxLength: 2*validation.DNS1123LabelMaxLength + 1, pattern: reference},
	}
	notNegative := 0.0
	all := map[string]limit{
		models + "ClusterResourceClaimTemplateSpec.nameOverride": domain,
		models + "ClusterResourceClaimTemplateStatus.conditions": {mapKey: "type"},
		meta + "LabelSelectorRequirement.operator":               {enum: []string{"In", "NotIn", "Exists", "DoesNotExist"}},
		meta + "LabelSelectorRequirement": {rules: []rule{{
			"self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",
			"In and NotIn need values, Exists and DoesNotExist have none",
		}}},
		meta + "LabelSelectorRequirement.values":  {maxItems: 256, items: &limit{maxLength: validation.LabelValueMaxLength}},
		meta + "LabelSelector.matchExpressions":   {maxItems: 64},
		resource + "DeviceClaim.requests":         {maxItems: resourcev1.DeviceRequestsMaxSize},
		resource + "DeviceClaim.constraints":      {maxItems: resourcev1.DeviceConstraintsMaxSize},
		resource + "DeviceClaim.config":           {maxItems: resourcev1.DeviceConfigMaxSize},
		resource + "DeviceRequest.name":           name,
		resource + "DeviceRequest.firstAvailable": {maxItems: resourcev1.FirstAvailableDeviceRequestMaxSize},
		resource + "DeviceRequest": {rules: []rule{{
			"has(self.exactly) != has(self.firstAvailable)", "exactly one of exactly and firstAvailable must be set",
		}}},
		resource + "DeviceConstraint.requests":         requests,
		resource + "DeviceClaimConfiguration.requests": requests,
		resource + "OpaqueDeviceConfiguration.driver":  {maxLength: resourcev1.DriverNameMaxLength, pattern: subdomain},
		resource + "CELDeviceSelector.expression":      {maxLength: resourcev1.CELSelectorExpressionMaxLength},
		resource + "DeviceSubRequest.name":             name,
	}
	for _, model := range []string{"ExactDeviceRequest", "DeviceSubRequest"} {
		all[resource+model+".deviceClassName"] = domain
		all[resource+model+".selectors"] = limit{maxItems: resourcev1.DeviceSelectorsMaxSize}
		all[resource+model+".tolerations"] = limit{maxItems: resourcev1.DeviceTolerationsMaxLength}
		all[resource+model+".derivedAttributes"] = limit{maxItems: resourcev1.DeviceDerivedAttributesMaxSize}
		all[resource+model+".count"] = limit{minimum: &notNegative}
		all[resource+model] = limit{rules: []rule{{
			"!has(self.count) || self.count == 0 || !has(self.allocationMode) || self.allocationMode == 'ExactCount'",
			"count may only be set in mode ExactCount",
		}}}
	}
	return all
}
