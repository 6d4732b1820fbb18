package registry

import (
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/dynamicadmission"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// webhookConfigurations are the kinds by which admission webhooks are called.
func webhookConfigurations() []entry {
	return []entry{
		&kind[admissionregistrationv1.MutatingWebhookConfiguration, *admissionregistrationv1.MutatingWebhookConfiguration]{
			names:        admissionNames("mutatingwebhookconfigurations", "mutatingwebhookconfiguration"),
			newList:      func() runtime.Object { return &admissionregistrationv1.MutatingWebhookConfigurationList{} },
			defaults:     defaults.MutatingWebhookConfiguration,
			printer:      printers.MutatingWebhookConfiguration,
			class:        rbac.Cluster,
			spec:         func(c *admissionregistrationv1.MutatingWebhookConfiguration) any { return &c.Webhooks },
			generation:   true,
			needsVersion: true,

			validate:       validation.ValidateMutatingWebhookConfiguration,
			validateUpdate: validation.ValidateMutatingWebhookConfigurationUpdate,
			warnings: func(c, _ *admissionregistrationv1.MutatingWebhookConfiguration) (out []string) {
				for i, h := range c.Webhooks {
					out = append(out, ruleWarnings(i, h.Rules)...)
				}
				return out
			},
		},
		&kind[admissionregistrationv1.ValidatingWebhookConfiguration, *admissionregistrationv1.ValidatingWebhookConfiguration]{
			names:        admissionNames("validatingwebhookconfigurations", "validatingwebhookconfiguration"),
			newList:      func() runtime.Object { return &admissionregistrationv1.ValidatingWebhookConfigurationList{} },
			defaults:     defaults.ValidatingWebhookConfiguration,
			printer:      printers.ValidatingWebhookConfiguration,
			class:        rbac.Cluster,
			spec:         func(c *admissionregistrationv1.ValidatingWebhookConfiguration) any { return &c.Webhooks },
			generation:   true,
			needsVersion: true,

			validate:       validation.ValidateValidatingWebhookConfiguration,
			validateUpdate: validation.ValidateValidatingWebhookConfigurationUpdate,
			warnings: func(c, _ *admissionregistrationv1.ValidatingWebhookConfiguration) (out []string) {
				for i, h := range c.Webhooks {
					out = append(out, ruleWarnings(i, h.Rules)...)
				}
				return out
			},
		},
	}
}

func admissionNames(plural, singular string) names {
	return names{group: admissionregistrationv1.GroupName, versions: v1, plural: plural, singular: singular, cluster: true}
}

// ruleWarnings names the resources in the rules of a webhook for which no webhook is called.
func ruleWarnings(webhook int, rules []admissionregistrationv1.RuleWithOperations) []string {
	var out []string
	path := field.NewPath("webhooks").Index(webhook).Child("rules")
	for i, rule := range rules {
		for _, r := range dynamicadmission.Excluded() {
			if slices.Contains(rule.APIGroups, r.Group) && slices.Contains(rule.Resources, r.Resource) {
				out = append(out,
					fmt.Sprintf("%s: %s is excluded from admission webhooks; this rule will have no effect", path.Index(i), r))
			}
		}
	}
	return out
}
