package model

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
)

// Objects can come from a newer server, with enum values or union members that this version does
// not know. Decoding drops an unknown member, so that the union is empty. Such a field must not be
// ignored, because it restricts what the claim accepts.

// unknownInClaim returns the first field of a claim that this version does not know, or nil.
func unknownInClaim(spec *resourcev1.DeviceClaim) *UnsupportedField {
	for i := range spec.Requests {
		request := &spec.Requests[i]
		if field, value := unknownInRequest(request); field != "" {
			return &UnsupportedField{
				Requests: []string{request.Name},
				Field:    fmt.Sprintf("spec.devices.requests[%d]%s", i, field),
				Value:    value,
			}
		}
	}
	for i := range spec.Constraints {
		if c := &spec.Constraints[i]; (c.MatchAttribute == nil) == (c.DistinctAttribute == nil) {
			return unsupportedForAll(spec, fmt.Sprintf("spec.devices.constraints[%d]", i))
		}
	}
	for i := range spec.Config {
		if spec.Config[i].Opaque == nil {
			return unsupportedForAll(spec, fmt.Sprintf("spec.devices.config[%d]", i))
		}
	}
	return nil
}

func unsupportedForAll(spec *resourcev1.DeviceClaim, field string) *UnsupportedField {
	lack := &UnsupportedField{Field: field}
	for i := range spec.Requests {
		lack.Requests = append(lack.Requests, spec.Requests[i].Name)
	}
	return lack
}

func unknownInRequest(request *resourcev1.DeviceRequest) (field, value string) {
	if (request.Exactly == nil) == (len(request.FirstAvailable) == 0) {
		return " (neither exactly nor firstAvailable)", ""
	}
	if exactly := request.Exactly; exactly != nil {
		field, value = unknownInAlternative(exactly.AllocationMode, exactly.Selectors)
		return prefixed(".exactly", field), value
	}
	for i := range request.FirstAvailable {
		sub := &request.FirstAvailable[i]
		if field, value = unknownInAlternative(sub.AllocationMode, sub.Selectors); field != "" {
			return fmt.Sprintf(".firstAvailable[%d]%s", i, field), value
		}
	}
	return "", ""
}

func prefixed(prefix, field string) string {
	if field == "" {
		return ""
	}
	return prefix + field
}

func unknownInAlternative(
	mode resourcev1.DeviceAllocationMode, selectors []resourcev1.DeviceSelector,
) (field, value string) {
	switch mode {
	case resourcev1.DeviceAllocationModeExactCount, resourcev1.DeviceAllocationModeAll, "":
		return unknownSelector(selectors), ""
	}
	return ".allocationMode", string(mode)
}

func unknownSelector(selectors []resourcev1.DeviceSelector) string {
	for i := range selectors {
		if selectors[i].CEL == nil {
			return fmt.Sprintf(".selectors[%d]", i)
		}
	}
	return ""
}

// unknownInClass returns the first field of a class that this version does not know, or "".
func unknownInClass(spec *resourcev1.DeviceClassSpec) string {
	if field := unknownSelector(spec.Selectors); field != "" {
		return "spec" + field
	}
	for i := range spec.Config {
		if spec.Config[i].Opaque == nil {
			return fmt.Sprintf("spec.config[%d]", i)
		}
	}
	return ""
}
