package validation

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateServiceAccount checks a new ServiceAccount.
func ValidateServiceAccount(account *corev1.ServiceAccount) field.ErrorList {
	return metadata(&account.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain)
}

// ValidateServiceAccountUpdate checks a change of a ServiceAccount.
func ValidateServiceAccountUpdate(account, old *corev1.ServiceAccount) field.ErrorList {
	return metadataAgain(&account.ObjectMeta, &old.ObjectMeta, apivalidation.ValidateServiceAccountName)
}

// ValidateBinding checks a request to bind a pod to a node.
func ValidateBinding(binding *corev1.Binding) field.ErrorList {
	path := field.NewPath("target")
	var errs field.ErrorList
	if kind := binding.Target.Kind; kind != "" && kind != "Node" {
		errs = append(errs, field.NotSupported(path.Child("kind"), kind, []string{"Node", "<empty>"}))
	}
	return append(errs, dnsSubdomain(path.Child("name"), binding.Target.Name)...)
}
