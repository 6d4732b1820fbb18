package printers

import (
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func webhookConfigurationColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(), computedColumn("Webhooks", "integer", "The number of webhooks of the configuration."), ageColumn(),
	}
}

// MutatingWebhookConfiguration returns the printer of MutatingWebhookConfigurations.
func MutatingWebhookConfiguration() Printer {
	return typed(
		webhookConfigurationColumns(),
		func(c *admissionregistrationv1.MutatingWebhookConfiguration, now time.Time) []any {
			return []any{c.Name, int64(len(c.Webhooks)), age(c.CreationTimestamp, now)}
		},
	)
}

// ValidatingWebhookConfiguration returns the printer of ValidatingWebhookConfigurations.
func ValidatingWebhookConfiguration() Printer {
	return typed(
		webhookConfigurationColumns(),
		func(c *admissionregistrationv1.ValidatingWebhookConfiguration, now time.Time) []any {
			return []any{c.Name, int64(len(c.Webhooks)), age(c.CreationTimestamp, now)}
		},
	)
}

// policyColumns returns the columns of a policy, with a column for the number of its parts.
func policyColumns(title, description string) []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(), computedColumn(title, "integer", description),
		computedColumn("ParamKind", "string", "The kind of the objects that parameterize the policy."), ageColumn(),
	}
}

// MutatingAdmissionPolicy returns the printer of MutatingAdmissionPolicies.
func MutatingAdmissionPolicy() Printer {
	columns := policyColumns("Mutations", "The number of mutations of the policy.")
	return typed(columns, func(p *admissionregistrationv1.MutatingAdmissionPolicy, now time.Time) []any {
		return []any{p.Name, int64(len(p.Spec.Mutations)), paramKind(p.Spec.ParamKind), age(p.CreationTimestamp, now)}
	})
}

// ValidatingAdmissionPolicy returns the printer of ValidatingAdmissionPolicies.
func ValidatingAdmissionPolicy() Printer {
	columns := policyColumns("Validations", "The number of validations of the policy.")
	return typed(columns, func(p *admissionregistrationv1.ValidatingAdmissionPolicy, now time.Time) []any {
		return []any{p.Name, int64(len(p.Spec.Validations)), paramKind(p.Spec.ParamKind), age(p.CreationTimestamp, now)}
	})
}

func paramKind(kind *admissionregistrationv1.ParamKind) string {
	if kind == nil {
		return unset
	}
	return kind.APIVersion + "/" + kind.Kind
}

func policyBindingColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(), computedColumn("PolicyName", "string", "The policy that the binding puts into force."),
		computedColumn("ParamRef", "string", "The objects that parameterize the policy."), ageColumn(),
	}
}

// MutatingAdmissionPolicyBinding returns the printer of MutatingAdmissionPolicyBindings.
func MutatingAdmissionPolicyBinding() Printer {
	return typed(
		policyBindingColumns(),
		func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding, now time.Time) []any {
			return []any{b.Name, b.Spec.PolicyName, paramRef(b.Spec.ParamRef), age(b.CreationTimestamp, now)}
		},
	)
}

// ValidatingAdmissionPolicyBinding returns the printer of ValidatingAdmissionPolicyBindings.
func ValidatingAdmissionPolicyBinding() Printer {
	return typed(
		policyBindingColumns(),
		func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding, now time.Time) []any {
			return []any{b.Name, b.Spec.PolicyName, paramRef(b.Spec.ParamRef), age(b.CreationTimestamp, now)}
		},
	)
}

// paramRef shows a reference. Without a namespace it is one in any: whether the kind has namespaces
// is not known here.
func paramRef(ref *admissionregistrationv1.ParamRef) string {
	switch {
	case ref == nil || ref.Name == "" && ref.Selector == nil:
		return unset
	case ref.Name == "":
		return ref.Selector.String()
	case ref.Namespace == "":
		return "*/" + ref.Name
	}
	return ref.Namespace + "/" + ref.Name
}
