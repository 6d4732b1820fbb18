package validation

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateNode checks a new node.
func ValidateNode(node *corev1.Node) field.ErrorList {
	return append(metadata(&node.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain), nodeContent(node)...)
}

// ValidateNodeUpdate checks a change of a node. What other systems know a node by
// is set once.
func ValidateNodeUpdate(node, old *corev1.Node) field.ErrorList {
	path := field.NewPath("spec")
	errs := append(metadataUpdate(&node.ObjectMeta, &old.ObjectMeta), nodeContent(node)...)
	if len(old.Spec.PodCIDRs) > 0 && !slices.Equal(node.Spec.PodCIDRs, old.Spec.PodCIDRs) {
		errs = append(errs, field.Forbidden(path.Child("podCIDRs"), onlyOnceMessage))
	}
	if old.Spec.ProviderID != "" && node.Spec.ProviderID != old.Spec.ProviderID {
		errs = append(errs, field.Forbidden(path.Child("providerID"), onlyOnceMessage))
	}
	return errs
}

// ValidateNodeStatusUpdate checks what a node reports.
func ValidateNodeStatusUpdate(node, old *corev1.Node) field.ErrorList {
	return append(metadataUpdate(&node.ObjectMeta, &old.ObjectMeta), nodeStatus(node)...)
}

func nodeContent(node *corev1.Node) field.ErrorList {
	path := field.NewPath("spec")
	return join(
		taints(path.Child("taints"), node.Spec.Taints),
		each(path.Child("podCIDRs"), node.Spec.PodCIDRs, func(at *field.Path, cidr *string) field.ErrorList {
			return validation.IsValidCIDRForLegacyField(at, *cidr, false, nil)
		}),
		nodeStatus(node),
	)
}

func nodeStatus(node *corev1.Node) field.ErrorList {
	path := field.NewPath("status")
	return join(
		resourceQuantities(path.Child("capacity"), node.Status.Capacity, nil),
		resourceQuantities(path.Child("allocatable"), node.Status.Allocatable, nil),
		unique(path.Child("addresses"), node.Status.Addresses, "", func(a *corev1.NodeAddress) string {
			return fmt.Sprintf("%s %s", a.Type, a.Address)
		}),
	)
}
