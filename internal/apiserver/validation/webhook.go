package validation

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilwebhook "k8s.io/apiserver/pkg/util/webhook"
)

const maxWebhookTimeoutSeconds = 30

// reviewVersions returns the versions of AdmissionReview that the server can send.
func reviewVersions() []string { return []string{"v1", "v1beta1"} }

// webhook has the fields that both kinds of webhooks have.
type webhook = admissionregistrationv1.ValidatingWebhook

// ValidateMutatingWebhookConfiguration checks a new MutatingWebhookConfiguration.
func ValidateMutatingWebhookConfiguration(c *admissionregistrationv1.MutatingWebhookConfiguration) field.ErrorList {
	return join(
		objectMeta(&c.ObjectMeta, clusterScoped, admissionName),
		webhooks(commonOf(c.Webhooks), nil), reinvocationPolicies(c.Webhooks),
	)
}

// ValidateMutatingWebhookConfigurationUpdate checks a change of a MutatingWebhookConfiguration.
func ValidateMutatingWebhookConfigurationUpdate(
	c, old *admissionregistrationv1.MutatingWebhookConfiguration,
) field.ErrorList {
	return join(
		objectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta),
		webhooks(commonOf(c.Webhooks), commonOf(old.Webhooks)), reinvocationPolicies(c.Webhooks),
	)
}

// ValidateValidatingWebhookConfiguration checks a new ValidatingWebhookConfiguration.
func ValidateValidatingWebhookConfiguration(c *admissionregistrationv1.ValidatingWebhookConfiguration) field.ErrorList {
	return join(objectMeta(&c.ObjectMeta, clusterScoped, admissionName), webhooks(c.Webhooks, nil))
}

// ValidateValidatingWebhookConfigurationUpdate checks a change of a ValidatingWebhookConfiguration.
func ValidateValidatingWebhookConfigurationUpdate(
	c, old *admissionregistrationv1.ValidatingWebhookConfiguration,
) field.ErrorList {
	return join(objectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta), webhooks(c.Webhooks, old.Webhooks))
}

// commonOf returns mutating webhooks as the rules for both kinds see them.
func commonOf(hooks []admissionregistrationv1.MutatingWebhook) []webhook {
	out := make([]webhook, len(hooks))
	for i, h := range hooks {
		out[i] = webhook{
			Name: h.Name, ClientConfig: h.ClientConfig, Rules: h.Rules, FailurePolicy: h.FailurePolicy,
			MatchPolicy:       h.MatchPolicy,
			NamespaceSelector: h.NamespaceSelector, ObjectSelector: h.ObjectSelector, SideEffects: h.SideEffects,
			TimeoutSeconds: h.TimeoutSeconds, AdmissionReviewVersions: h.AdmissionReviewVersions,
			MatchConditions: h.MatchConditions,
		}
	}
	return out
}

func reinvocationPolicies(hooks []admissionregistrationv1.MutatingWebhook) field.ErrorList {
	return each(
		field.NewPath("webhooks"),
		hooks,
		func(at *field.Path, h *admissionregistrationv1.MutatingWebhook) field.ErrorList {
			if h.ReinvocationPolicy == nil {
				return nil
			}
			return supported(at.Child("reinvocationPolicy"), *h.ReinvocationPolicy,
				admissionregistrationv1.IfNeededReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
		},
	)
}

// webhooks checks the webhooks of a configuration. A rule that the stored ones break is not applied
// to an update, because the rule may be younger than they are.
func webhooks(hooks, old []webhook) field.ErrorList {
	path := field.NewPath("webhooks")
	lax := webhookRules{
		anySideEffects: slices.ContainsFunc(old,
			func(h webhook) bool { return h.SideEffects == nil || !harmless(*h.SideEffects) }),
		anyReviewVersion: slices.ContainsFunc(old,
			func(h webhook) bool { return len(h.AdmissionReviewVersions) > 0 && !reviewable(&h) }),
		anySelectorValue: slices.ContainsFunc(old, func(h webhook) bool { return len(webhookSelectors(nil, &h, false)) > 0 }),
		stored:           storedExpressions{},
	}
	for i := range old {
		lax.stored.addConditions(old[i].MatchConditions)
	}
	name := func(h *webhook) string { return h.Name }
	errs := each(path, hooks, lax.check)
	if len(unique(path, old, "name", name)) == 0 {
		errs = append(errs, unique(path, hooks, "name", name)...)
	}
	return errs
}

// webhookRules are the rules that a stored configuration may break.
type webhookRules struct {
	anySideEffects, anyReviewVersion, anySelectorValue bool
	stored                                             storedExpressions
}

func (r webhookRules) check(path *field.Path, h *webhook) field.ErrorList {
	errs := join(
		validation.IsFullyQualifiedName(path.Child("name"), h.Name),
		each(path.Child("rules"), h.Rules, admissionRule),
		r.sideEffects(path.Child("sideEffects"), h.SideEffects),
		webhookSelectors(path, h, r.anySelectorValue),
		clientConfig(path.Child("clientConfig"), &h.ClientConfig),
		matchConditions(path.Child("matchConditions"), h.MatchConditions, false, r.stored),
		r.reviewVersions(path.Child("admissionReviewVersions"), h),
	)
	if h.FailurePolicy != nil {
		errs = append(errs, failurePolicy(path.Child("failurePolicy"), *h.FailurePolicy)...)
	}
	if h.MatchPolicy != nil {
		errs = append(errs, matchPolicy(path.Child("matchPolicy"), *h.MatchPolicy)...)
	}
	if t := h.TimeoutSeconds; t != nil {
		errs = append(errs, check(0 < *t && *t <= maxWebhookTimeoutSeconds, path.Child("timeoutSeconds"), *t,
			"the timeout value must be between 1 and 30 seconds")...)
	}
	return errs
}

func failurePolicy(path *field.Path, policy admissionregistrationv1.FailurePolicyType) field.ErrorList {
	return supported(path, policy, admissionregistrationv1.Fail, admissionregistrationv1.Ignore)
}

func matchPolicy(path *field.Path, policy admissionregistrationv1.MatchPolicyType) field.ErrorList {
	return supported(path, policy, admissionregistrationv1.Equivalent, admissionregistrationv1.Exact)
}

func webhookSelectors(path *field.Path, h *webhook, anyValue bool) field.ErrorList {
	options := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: anyValue}
	var errs field.ErrorList
	for name, selector := range map[string]*metav1.LabelSelector{"namespaceSelector": h.NamespaceSelector,
		"objectSelector": h.ObjectSelector} {
		if selector != nil {
			errs = append(errs, metav1validation.ValidateLabelSelector(selector, options, path.Child(name))...)
		}
	}
	return errs
}

// harmless reports whether a webhook of the class may be called for a dry run.
func harmless(class admissionregistrationv1.SideEffectClass) bool {
	return class == admissionregistrationv1.SideEffectClassNone ||
		class == admissionregistrationv1.SideEffectClassNoneOnDryRun
}

func (r webhookRules) sideEffects(path *field.Path, class *admissionregistrationv1.SideEffectClass) field.ErrorList {
	allowed := []string{
		string(admissionregistrationv1.SideEffectClassNone),
		string(admissionregistrationv1.SideEffectClassNoneOnDryRun),
	}
	if r.anySideEffects {
		allowed = append(allowed, string(admissionregistrationv1.SideEffectClassSome),
			string(admissionregistrationv1.SideEffectClassUnknown))
	}
	if class == nil {
		return errorList(field.Required(path, "must specify one of "+strings.Join(allowed, ", ")))
	}
	return supported(path, string(*class), allowed...)
}

// reviewable reports whether the server can send a review that the webhook accepts.
func reviewable(h *webhook) bool {
	return slices.ContainsFunc(h.AdmissionReviewVersions,
		func(v string) bool { return slices.Contains(reviewVersions(), v) })
}

func (r webhookRules) reviewVersions(path *field.Path, h *webhook) field.ErrorList {
	known := strings.Join(reviewVersions(), ", ")
	if len(h.AdmissionReviewVersions) == 0 {
		return errorList(field.Required(path, "must specify one of "+known))
	}
	seen := map[string]bool{}
	errs := each(path, h.AdmissionReviewVersions, func(at *field.Path, version *string) field.ErrorList {
		if seen[*version] {
			return errorList(field.Invalid(at, *version, "duplicate version"))
		}
		seen[*version] = true
		return wellFormed(at, *version, validation.IsDNS1035Label)
	})
	return append(
		errs,
		check(r.anyReviewVersion || reviewable(h), path, h.AdmissionReviewVersions, "must include at least one of "+known)...)
}

func clientConfig(path *field.Path, c *admissionregistrationv1.WebhookClientConfig) field.ErrorList {
	switch {
	case (c.URL == nil) == (c.Service == nil):
		return errorList(field.Required(path, "exactly one of url or service is required"))
	case c.URL != nil:
		return utilwebhook.ValidateWebhookURL(path.Child("url"), *c.URL, true)
	}
	var port int32
	if c.Service.Port != nil {
		port = *c.Service.Port
	}
	return utilwebhook.ValidateWebhookService(path.Child("service"), c.Service.Namespace, c.Service.Name, c.Service.Path,
		port)
}
