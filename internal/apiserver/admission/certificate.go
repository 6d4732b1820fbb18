package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/allot-dev/allot/internal/pki"
)

// certificate decides about requests for certificates: whether the user may approve or sign those of
// the signer, and which subject a client of the API may not have.
func (c *Chain) certificate(
	ctx context.Context, a admission.Attributes, request *certificatesv1.CertificateSigningRequest,
) error {
	if a.GetOperation() == admission.Create && a.GetSubresource() == "" {
		return subjectAllowed(a, request)
	}
	old, ok := a.GetOldObject().(*certificatesv1.CertificateSigningRequest)
	if !ok || a.GetOperation() != admission.Update {
		return nil
	}
	signer := old.Spec.SignerName // the new one may be anything until it is validated
	switch a.GetSubresource() {
	case "approval":
		if !c.maySign(ctx, a.GetUserInfo(), "approve", signer) {
			return admission.NewForbidden(a, fmt.Errorf("user not permitted to approve requests with signerName %q", signer))
		}
	case "status":
		if !equality.Semantic.DeepEqual(old.Status, request.Status) && !c.maySign(ctx, a.GetUserInfo(), "sign", signer) {
			return admission.NewForbidden(a, fmt.Errorf("user not permitted to sign requests with signerName %q", signer))
		}
	}
	return nil
}

// maySign reports whether a user is allowed a verb on a signer, or on all signers of its domain.
func (c *Chain) maySign(ctx context.Context, who user.Info, verb, signer string) bool {
	domain, _, _ := strings.Cut(signer, "/")
	return slices.ContainsFunc([]string{signer, domain + "/*"}, func(name string) bool {
		decision, _, err := c.rules.Authorizer.Authorize(ctx, authorizer.AttributesRecord{
			User: who, Verb: verb, Name: name, APIGroup: certificatesv1.GroupName, APIVersion: "*", Resource: "signers",
			ResourceRequest: true,
		})
		return err == nil && decision == authorizer.DecisionAllow
	})
}

// subjectAllowed rejects a request for a client certificate of the group to which no rule applies.
func subjectAllowed(a admission.Attributes, r *certificatesv1.CertificateSigningRequest) error {
	if r.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName {
		return nil
	}
	request, err := pki.ParseRequest(r.Spec.Request)
	if err != nil {
		return admission.NewForbidden(a, fmt.Errorf("failed to parse CSR: %w", err))
	}
	if slices.Contains(request.Subject.Organization, user.SystemPrivilegedGroup) {
		return admission.NewForbidden(a, fmt.Errorf("use of %s signer with %s group is not allowed",
			r.Spec.SignerName, user.SystemPrivilegedGroup))
	}
	return nil
}
