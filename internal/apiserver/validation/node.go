package validation

import (
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

// ValidateNode checks a new node.
func ValidateNode(node *corev1.Node) field.ErrorList {
	return join(
		metadata(&node.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain),
		podCIDRs(field.NewPath("spec", "podCIDRs"), node.Spec.PodCIDRs),
		taints(field.NewPath("spec", "taints"), node.Spec.Taints),
		nodeResources(node),
		nodeSwap(node),
	)
}

// nodeSwap checks the swap of a node. As in Kubernetes, a change of the status is not checked.
func nodeSwap(node *corev1.Node) field.ErrorList {
	swap := node.Status.NodeInfo.Swap
	if swap == nil || swap.Capacity == nil {
		return nil
	}
	path := field.NewPath("status", "nodeInfo", "swap", "capacity")
	return check(*swap.Capacity > 0, path, *swap.Capacity, positive)
}

// ValidateNodeUpdate checks a change of a node.
func ValidateNodeUpdate(node, old *corev1.Node) field.ErrorList {
	return join(
		ValidateNodeStatusUpdate(node, old),
		generateName(&node.ObjectMeta, apivalidation.NameIsDNSSubdomain),
		nodeSwap(node),
	)
}

// ValidateNodeStatusUpdate checks the status that a node reports, and the rest of the node again.
// Identifiers in other systems can only be set once.
func ValidateNodeStatusUpdate(node, old *corev1.Node) field.ErrorList {
	path := field.NewPath("spec")
	errs := join(
		metadataUpdate(&node.ObjectMeta, &old.ObjectMeta),
		podCIDRs(path.Child("podCIDRs"), node.Spec.PodCIDRs),
		taints(path.Child("taints"), node.Spec.Taints),
		nodeStatus(node),
	)
	if len(old.Spec.PodCIDRs) > 0 && !slices.Equal(node.Spec.PodCIDRs, old.Spec.PodCIDRs) {
		errs = append(errs, field.Forbidden(path.Child("podCIDRs"), onlyOnceMessage))
	}
	if old.Spec.ProviderID != "" && node.Spec.ProviderID != old.Spec.ProviderID {
		errs = append(errs, field.Invalid(path.Child("providerID"), node.Spec.ProviderID, onlyOnceMessage))
	}
	if node.Spec.DoNotUseExternalID != old.Spec.DoNotUseExternalID {
		errs = append(errs, field.Forbidden(path.Child("externalID"), onlyOnceMessage))
	}
	return errs
}

func podCIDRs(path *field.Path, list []string) field.ErrorList {
	errs := each(path, list, func(at *field.Path, cidr *string) field.ErrorList {
		return validation.IsValidCIDRForLegacyField(at, *cidr, true, nil)
	})
	if len(list) < 2 {
		return errs
	}
	dual, err := netutils.IsDualStackCIDRStrings(list)
	return append(
		errs,
		check(err == nil && dual && len(list) == 2, path, list, "must have one range of each family at most")...)
}

func nodeStatus(node *corev1.Node) field.ErrorList {
	return append(
		nodeResources(node),
		distinct(field.NewPath("status", "addresses"), node.Status.Addresses, "",
			func(a *corev1.NodeAddress) corev1.NodeAddress { return *a })...)
}

// featureForm matches the name of a feature that a node declares.
var featureForm = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*(/[A-Za-z][A-Za-z0-9]*)*$`)

func nodeResources(node *corev1.Node) field.ErrorList {
	path := field.NewPath("status")
	features := path.Child("declaredFeatures")
	errs := join(
		nodeQuantities(path.Child("capacity"), node.Status.Capacity),
		nodeQuantities(path.Child("allocatable"), node.Status.Allocatable),
		each(features, node.Status.DeclaredFeatures, func(at *field.Path, name *string) field.ErrorList {
			ok := featureForm.MatchString(*name) && len(*name) <= validation.DNS1123SubdomainMaxLength
			return check(ok, at, *name, "must be words that start with a capital letter, separated by slashes")
		}),
	)
	for i := 1; i < len(node.Status.DeclaredFeatures); i++ {
		switch before, name := node.Status.DeclaredFeatures[i-1], node.Status.DeclaredFeatures[i]; {
		case name == before:
			errs = append(errs, field.Duplicate(features.Index(i), name))
		case name < before:
			errs = append(errs, field.Invalid(features.Index(i), name, "must be sorted"))
		}
	}
	return errs
}
