package defaults

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// webhookTimeoutSeconds is how long a webhook may take.
	webhookTimeoutSeconds = 10
	// webhookServicePort is the port of a Service at which a webhook is called.
	webhookServicePort = 443
)

// MutatingWebhookConfiguration fills in how each webhook is matched and called.
func MutatingWebhookConfiguration(c *admissionregistrationv1.MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		h := &c.Webhooks[i]
		webhookMatch(&h.FailurePolicy, &h.MatchPolicy, &h.NamespaceSelector, &h.ObjectSelector)
		webhookCall(&h.TimeoutSeconds, &h.ClientConfig, h.Rules)
		orNew(&h.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
	}
}

// ValidatingWebhookConfiguration fills in how each webhook is matched and called.
func ValidatingWebhookConfiguration(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
	for i := range c.Webhooks {
		h := &c.Webhooks[i]
		webhookMatch(&h.FailurePolicy, &h.MatchPolicy, &h.NamespaceSelector, &h.ObjectSelector)
		webhookCall(&h.TimeoutSeconds, &h.ClientConfig, h.Rules)
	}
}

func webhookMatch(
	failure **admissionregistrationv1.FailurePolicyType,
	match **admissionregistrationv1.MatchPolicyType,
	namespaces, objects **metav1.LabelSelector,
) {
	orNew(failure, admissionregistrationv1.Fail)
	orNew(match, admissionregistrationv1.Equivalent)
	orNew(namespaces, metav1.LabelSelector{})
	orNew(objects, metav1.LabelSelector{})
}

func webhookCall(
	timeout **int32, config *admissionregistrationv1.WebhookClientConfig,
	rules []admissionregistrationv1.RuleWithOperations,
) {
	orNew(timeout, webhookTimeoutSeconds)
	if config.Service != nil {
		orNew(&config.Service.Port, webhookServicePort)
	}
	for i := range rules {
		orNew(&rules[i].Scope, admissionregistrationv1.AllScopes)
	}
}

// MutatingAdmissionPolicy fills in the failure policy and what is matched.
func MutatingAdmissionPolicy(p *admissionregistrationv1.MutatingAdmissionPolicy) {
	orNew(&p.Spec.FailurePolicy, admissionregistrationv1.Fail)
	matchResources(p.Spec.MatchConstraints)
}

// ValidatingAdmissionPolicy fills in the failure policy and what is matched.
func ValidatingAdmissionPolicy(p *admissionregistrationv1.ValidatingAdmissionPolicy) {
	orNew(&p.Spec.FailurePolicy, admissionregistrationv1.Fail)
	matchResources(p.Spec.MatchConstraints)
}

// MutatingAdmissionPolicyBinding fills in what is matched.
func MutatingAdmissionPolicyBinding(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) {
	matchResources(b.Spec.MatchResources)
}

// ValidatingAdmissionPolicyBinding fills in what is matched.
func ValidatingAdmissionPolicyBinding(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
	matchResources(b.Spec.MatchResources)
}

func matchResources(m *admissionregistrationv1.MatchResources) {
	if m == nil {
		return
	}
	orNew(&m.MatchPolicy, admissionregistrationv1.Equivalent)
	orNew(&m.NamespaceSelector, metav1.LabelSelector{})
	orNew(&m.ObjectSelector, metav1.LabelSelector{})
	for _, rules := range [][]admissionregistrationv1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			orNew(&rules[i].Scope, admissionregistrationv1.AllScopes)
		}
	}
}
