package validation

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
)

// ClaimWarnings returns warnings about fields of a valid claim, or of a template's claims, that can
// never have the effect that they describe. Kubernetes accepts them, so they are not rejected; but
// the client should know before the pods wait.
func ClaimWarnings(path *field.Path, spec *resource.ResourceClaimSpec) []string {
	var out []string
	requests := path.Child("devices", "requests")
	for i := range spec.Devices.Requests {
		r, at := &spec.Devices.Requests[i], requests.Index(i)
		if e := r.Exactly; e != nil {
			out = append(out, requestWarnings(at.Child("exactly"), e.AllocationMode, e.Count, e.Tolerations, e.Capacity)...)
		}
		for j := range r.FirstAvailable {
			s := &r.FirstAvailable[j]
			out = append(
				out,
				requestWarnings(at.Child("firstAvailable").Index(j), s.AllocationMode, s.Count, s.Tolerations, s.Capacity)...)
		}
	}
	return out
}

func requestWarnings(
	path *field.Path,
	mode resourcev1.DeviceAllocationMode,
	count int64,
	tolerations []resourcev1.DeviceToleration,
	capacity *resourcev1.CapacityRequirements,
) []string {
	var out []string
	if mode == resourcev1.DeviceAllocationModeExactCount && count > resourcev1.AllocationResultsMaxSize {
		out = append(out, fmt.Sprintf("%s: %d devices can never be allocated, a claim has at most %d",
			path.Child("count"), count, resourcev1.AllocationResultsMaxSize))
	}
	for i := range tolerations {
		if t := &tolerations[i]; t.Key == "" && t.Operator == resourcev1.DeviceTolerationOpEqual {
			out = append(
				out,
				fmt.Sprintf(
					"%s: without a key and with operator Equal it tolerates only taints whose value is %q; use operator Exists for all taints",
					path.Child("tolerations").Index(i),
					t.Value,
				),
			)
		}
	}
	if capacity != nil {
		for name, amount := range capacity.Requests {
			if amount.Sign() < 0 {
				out = append(
					out,
					fmt.Sprintf("%s: a negative amount is never allocated, or treated as the smallest amount that a device permits",
						path.Child("capacity", "requests").Key(string(name))),
				)
			}
		}
	}
	return out
}

// PodWarnings returns warnings about fields of a valid pod that can never have the effect that they
// describe. Unchanged fields were reported when they were written.
func PodWarnings(pod, old *core.Pod) []string {
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || old != nil && equality.Semantic.DeepEqual(a, old.Spec.Affinity) {
		return nil
	}
	var out []string
	path := field.NewPath("spec", "affinity", "nodeAffinity")
	if required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		terms := path.Child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
		for i := range required.NodeSelectorTerms {
			out = append(out, termWarnings(terms.Index(i), &required.NodeSelectorTerms[i])...)
		}
	}
	terms := path.Child("preferredDuringSchedulingIgnoredDuringExecution")
	for i := range a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		term := &a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference
		out = append(out, termWarnings(terms.Index(i).Child("preference"), term)...)
	}
	return out
}

func termWarnings(path *field.Path, term *corev1.NodeSelectorTerm) []string {
	var out []string
	for i := range term.MatchExpressions {
		r := &term.MatchExpressions[i]
		if (r.Operator != corev1.NodeSelectorOpGt && r.Operator != corev1.NodeSelectorOpLt) || len(r.Values) != 1 {
			continue
		}
		if _, err := strconv.ParseInt(r.Values[0], 10, 64); err != nil {
			out = append(out, fmt.Sprintf("%s: %q is not an integer, so that operator %s matches no node",
				path.Child("matchExpressions").Index(i).Child("values").Index(0), r.Values[0], r.Operator))
		}
	}
	return out
}
