package validation

import (
	"encoding/json"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// requests are the names to which constraints, configuration and results may refer: each request,
// with its subrequests.
type requests map[string]map[string]bool

func requestNames(devices *resourcev1.DeviceClaim) requests {
	names := requests{}
	for i := range devices.Requests {
		subs := map[string]bool{}
		for j := range devices.Requests[i].FirstAvailable {
			subs[devices.Requests[i].FirstAvailable[j].Name] = true
		}
		names[devices.Requests[i].Name] = subs
	}
	return names
}

// has reports whether reference is an existing "request" or "request/subrequest".
func (r requests) has(reference string) bool {
	name, sub, qualified := strings.Cut(reference, "/")
	subs, ok := r[name]
	return ok && (!qualified || subs[sub])
}

// deviceClaim checks what the generated rules do not: names, references between the parts, counts,
// CEL.
func deviceClaim(path *field.Path, devices *resourcev1.DeviceClaim) field.ErrorList {
	names := requestNames(devices)
	derived := derivedAttributes{used: constrainedAttributes(devices.Constraints)}
	errs := join(
		eachUpTo(
			path.Child("requests"),
			devices.Requests,
			resourcev1.DeviceRequestsMaxSize,
			func(at *field.Path, r *resourcev1.DeviceRequest) field.ErrorList {
				return deviceRequest(at, r, &derived)
			},
		),
		eachUpTo(
			path.Child("constraints"),
			devices.Constraints,
			resourcev1.DeviceConstraintsMaxSize,
			func(at *field.Path, c *resourcev1.DeviceConstraint) field.ErrorList {
				return append(requestReferences(at.Child("requests"), c.Requests, names), exactlyOne(at,
					member{"matchAttribute", c.MatchAttribute != nil},
					member{"distinctAttribute", c.DistinctAttribute != nil})...)
			},
		),
		eachUpTo(
			path.Child("config"),
			devices.Config,
			resourcev1.DeviceConfigMaxSize,
			func(at *field.Path, c *resourcev1.DeviceClaimConfiguration) field.ErrorList {
				return append(
					requestReferences(at.Child("requests"), c.Requests, names),
					deviceConfiguration(at, &c.DeviceConfiguration)...)
			},
		),
	)
	if derived.cost > resourcev1.DeviceClaimDerivedAttributeCELMaxCost {
		errs = append(errs, field.Forbidden(path, "too complex, the derived attributes together exceed the cost limit"))
	}
	return errs
}

func deviceRequest(path *field.Path, r *resourcev1.DeviceRequest, derived *derivedAttributes) field.ErrorList {
	errs := append(wellFormed(path.Child("name"), r.Name, validation.IsDNS1123Label),
		exactlyOne(path, member{"exactly", r.Exactly != nil}, member{"firstAvailable", len(r.FirstAvailable) > 0})...)
	switch alternatives := len(r.FirstAvailable) > 0; {
	case r.Exactly != nil && !alternatives:
		errs = append(errs, exactRequest(path.Child("exactly"), r.Name, r.Exactly, derived)...)
	case r.Exactly == nil && alternatives:
		errs = append(
			errs,
			eachUpTo(path.Child("firstAvailable"), r.FirstAvailable, resourcev1.FirstAvailableDeviceRequestMaxSize,
				func(at *field.Path, s *resourcev1.DeviceSubRequest) field.ErrorList {
					return subRequest(at, r.Name, s, derived)
				})...)
	}
	return errs
}

func exactRequest(
	path *field.Path, name string, r *resourcev1.ExactDeviceRequest, derived *derivedAttributes,
) field.ErrorList {
	return join(
		dnsSubdomain(path.Child("deviceClassName"), r.DeviceClassName),
		selectors(path.Child("selectors"), r.Selectors),
		allocationMode(path, r.AllocationMode, r.Count),
		deviceTolerations(path.Child("tolerations"), r.Tolerations),
		derived.check(path.Child("derivedAttributes"), name, r.DerivedAttributes),
	)
}

func subRequest(
	path *field.Path, parent string, r *resourcev1.DeviceSubRequest, derived *derivedAttributes,
) field.ErrorList {
	return join(
		wellFormed(path.Child("name"), r.Name, validation.IsDNS1123Label),
		selectors(path.Child("selectors"), r.Selectors),
		allocationMode(path, r.AllocationMode, r.Count),
		deviceTolerations(path.Child("tolerations"), r.Tolerations),
		derived.check(path.Child("derivedAttributes"), parent+"/"+r.Name, r.DerivedAttributes),
	)
}

// allocationMode checks the combination of mode and count. The generated rules reject unknown
// modes. A count above the limit of a claim gets a warning.
func allocationMode(path *field.Path, mode resourcev1.DeviceAllocationMode, count int64) field.ErrorList {
	at := path.Child("count")
	switch mode {
	case resourcev1.DeviceAllocationModeAll:
		return check(count == 0, at, count, "may not be set where `allocationMode` is All")
	case resourcev1.DeviceAllocationModeExactCount:
		return check(count > 0, at, count, positive)
	case "":
		return errorList(field.Required(path.Child("allocationMode"), ""))
	}
	return nil
}

func deviceTolerations(path *field.Path, list []resourcev1.DeviceToleration) field.ErrorList {
	return each(path, list, deviceToleration)
}

// deviceToleration checks a toleration. The generated rules check the format of key, operator and
// effect.
func deviceToleration(path *field.Path, t *resourcev1.DeviceToleration) field.ErrorList {
	switch t.Operator {
	case resourcev1.DeviceTolerationOpExists:
		return check(t.Value == "", path.Child("value"), t.Value, "must be empty with operator Exists")
	case resourcev1.DeviceTolerationOpEqual:
		return labelValue(path.Child("value"), t.Value)
	}
	return nil // only the operator is invalid
}

// chosen reports whether reference is the name of a request without subrequests, or a request and
// one of its subrequests.
func (r requests) chosen(reference string) bool {
	return r.has(reference) && (len(r[reference]) == 0 || strings.Contains(reference, "/"))
}

func requestReferences(path *field.Path, list []string, names requests) field.ErrorList {
	return eachUpTo(path, list, resourcev1.DeviceRequestsMaxSize, func(at *field.Path, name *string) field.ErrorList {
		return requestReference(at, *name, names)
	})
}

func requestReference(path *field.Path, name string, names requests) field.ErrorList {
	errs := check(names.has(name), path, name,
		"must be the name of a request in the claim, or of a request and a subrequest separated by '/'")
	if len(errs) > 0 {
		return errs
	}
	for part := range strings.SplitSeq(name, "/") { // the request of this name may be invalid as well
		errs = append(errs, wellFormed(path, part, validation.IsDNS1123Label)...)
	}
	return errs
}

func deviceConfiguration(path *field.Path, config *resourcev1.DeviceConfiguration) field.ErrorList {
	at := path.Child("opaque")
	if config.Opaque == nil {
		return errorList(field.Required(at, ""))
	}
	return jsonObject(at.Child("parameters"), &config.Opaque.Parameters, resourcev1.OpaqueParametersMaxLength)
}

// jsonObject checks an opaque configuration. Its errors never contain the content, which may be
// confidential.
func jsonObject(path *field.Path, extension *runtime.RawExtension, limit int) field.ErrorList {
	const omitted = "<value omitted>"
	if len(extension.Raw) == 0 || string(extension.Raw) == "null" {
		return errorList(field.Required(path, ""))
	}
	if len(extension.Raw) > limit {
		return errorList(field.TooLong(path, "", limit))
	}
	var parsed map[string]any
	return check(json.Unmarshal(extension.Raw, &parsed) == nil, path, omitted, "must be a JSON object")
}

// poolName checks one or more DNS subdomains, separated by slashes.
func poolName(path *field.Path, name string) field.ErrorList {
	if name == "" {
		return errorList(field.Required(path, ""))
	}
	var errs field.ErrorList
	if len(name) > resourcev1.PoolNameMaxLength {
		errs = append(errs, field.TooLong(path, "", resourcev1.PoolNameMaxLength))
	}
	for part := range strings.SplitSeq(name, "/") {
		for _, message := range validation.IsDNS1123Subdomain(part) {
			errs = append(errs, field.Invalid(path, part, message))
		}
	}
	return errs
}
