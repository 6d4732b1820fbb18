package validation

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/allot-dev/allot/internal/pki"
)

// minCertificateSeconds is the shortest life of a certificate that can be requested.
const minCertificateSeconds = 600

var (
	keyUsages = sets.New(
		certificatesv1.UsageSigning, certificatesv1.UsageDigitalSignature, certificatesv1.UsageContentCommitment,
		certificatesv1.UsageKeyEncipherment, certificatesv1.UsageKeyAgreement, certificatesv1.UsageDataEncipherment,
		certificatesv1.UsageCertSign, certificatesv1.UsageCRLSign, certificatesv1.UsageEncipherOnly,
		certificatesv1.UsageDecipherOnly, certificatesv1.UsageAny, certificatesv1.UsageServerAuth,
		certificatesv1.UsageClientAuth, certificatesv1.UsageCodeSigning, certificatesv1.UsageEmailProtection,
		certificatesv1.UsageSMIME, certificatesv1.UsageIPsecEndSystem, certificatesv1.UsageIPsecTunnel,
		certificatesv1.UsageIPsecUser, certificatesv1.UsageTimestamping, certificatesv1.UsageOCSPSigning,
		certificatesv1.UsageMicrosoftSGC, certificatesv1.UsageNetscapeSGC,
	)
	// finalConditions are the types of conditions that are never removed, and never false.
	finalConditions = []certificatesv1.RequestConditionType{
		certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed,
	}
)

// ValidateCertificateSigningRequest checks a new CertificateSigningRequest. The legacy signer is not
// allowed in this version of the API.
func ValidateCertificateSigningRequest(r *certificatesv1.CertificateSigningRequest) field.ErrorList {
	return append(metadata(&r.ObjectMeta, clusterScoped, anyName), signingRequest(r)...)
}

// ValidateCertificateSigningRequestUpdate checks a change of the metadata.
func ValidateCertificateSigningRequestUpdate(r, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	return join(signingRequestUpdate(r, old), sameApproval(r, old), sameCertificate(r, old))
}

// ValidateCertificateSigningRequestStatusUpdate checks a change of the status, which can set the
// certificate, and not the approval.
func ValidateCertificateSigningRequestStatusUpdate(r, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	errs := append(signingRequestUpdate(r, old), sameApproval(r, old)...)
	if len(old.Status.Certificate) > 0 && !bytes.Equal(r.Status.Certificate, old.Status.Certificate) {
		errs = append(errs, field.Forbidden(field.NewPath("status", "certificate"),
			"updates may not modify existing certificate content"))
	}
	return errs
}

// ValidateCertificateSigningRequestApproval checks a change of the approval.
func ValidateCertificateSigningRequestApproval(r, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	return append(signingRequestUpdate(r, old), sameCertificate(r, old)...)
}

// anyName accepts every name that fits into a path.
func anyName(string, bool) []string { return nil }

func signingRequest(r *certificatesv1.CertificateSigningRequest) field.ErrorList {
	spec, status := field.NewPath("spec"), field.NewPath("status")
	errs := join(
		signedRequest(spec.Child("request"), r),
		usages(spec.Child("usages"), r.Spec.Usages),
		signer(spec.Child("signerName"), r.Spec.SignerName),
		signingConditions(status.Child("conditions"), r.Status.Conditions),
	)
	if s := r.Spec.ExpirationSeconds; s != nil && *s < minCertificateSeconds {
		errs = append(errs, field.Invalid(spec.Child("expirationSeconds"), *s,
			"may not specify a duration less than 600 seconds (10 minutes)"))
	}
	if err := certificates(r.Status.Certificate); err != nil {
		errs = append(errs, field.Invalid(status.Child("certificate"), "<certificate data>", err.Error()))
	}
	return errs
}

func signedRequest(path *field.Path, r *certificatesv1.CertificateSigningRequest) field.ErrorList {
	request, err := pki.ParseRequest(r.Spec.Request)
	if err == nil {
		err = request.CheckSignature()
	}
	if err != nil {
		return errorList(field.Invalid(path, r.Spec.Request, err.Error()))
	}
	return nil
}

func usages(path *field.Path, list []certificatesv1.KeyUsage) field.ErrorList {
	if len(list) == 0 {
		return errorList(field.Required(path, ""))
	}
	known := each(path, list, func(at *field.Path, u *certificatesv1.KeyUsage) field.ErrorList {
		return when(!keyUsages.Has(*u), func() field.ErrorList {
			return errorList(field.NotSupported(at, *u, sets.List(keyUsages)))
		})
	})
	itself := func(u *certificatesv1.KeyUsage) certificatesv1.KeyUsage { return *u }
	return append(known, distinct(path, list, "", itself)...)
}

func signer(path *field.Path, name string) field.ErrorList {
	if name == certificatesv1beta1.LegacyUnknownSignerName {
		return errorList(field.Invalid(path, name, "the legacy signerName is not allowed via this API version"))
	}
	return signerName(path, name)
}

func signingConditions(path *field.Path, list []certificatesv1.CertificateSigningRequestCondition) field.ErrorList {
	types := sets.New[certificatesv1.RequestConditionType]()
	errs := each(path, list, func(at *field.Path, c *certificatesv1.CertificateSigningRequestCondition) field.ErrorList {
		types.Insert(c.Type)
		return append(required(at.Child("type"), string(c.Type)), signingConditionStatus(at.Child("status"), c)...)
	})
	errs = append(errs, distinct(path, list, "type",
		func(c *certificatesv1.CertificateSigningRequestCondition) certificatesv1.RequestConditionType {
			return c.Type
		})...)
	if types.HasAll(certificatesv1.CertificateApproved, certificatesv1.CertificateDenied) {
		errs = append(errs, field.Invalid(path, string(list[len(list)-1].Type),
			"Approved and Denied conditions are mutually exclusive"))
	}
	return errs
}

func signingConditionStatus(
	path *field.Path, c *certificatesv1.CertificateSigningRequestCondition,
) field.ErrorList {
	allowed := sets.New(corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown)
	for _, t := range finalConditions {
		if c.Type == t {
			allowed = sets.New(corev1.ConditionTrue)
		}
	}
	switch {
	case c.Status == "":
		return errorList(field.Required(path, ""))
	case !allowed.Has(c.Status):
		return errorList(field.NotSupported(path, c.Status, sets.List(allowed)))
	}
	return nil
}

// certificates checks that data is empty or has certificates in PEM form only.
func certificates(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	block, rest := pem.Decode(data)
	if block == nil {
		return errors.New("must contain at least one CERTIFICATE PEM block")
	}
	for ; block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("only CERTIFICATE PEM blocks are allowed, found %q", block.Type)
		}
		if len(block.Headers) != 0 {
			return errors.New("no PEM block headers are permitted")
		}
		list, err := x509.ParseCertificates(block.Bytes)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return errors.New("found CERTIFICATE PEM block containing 0 certificates")
		}
	}
	return nil
}

func signingRequestUpdate(r, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	errs := append(signingRequest(r), metadataAgain(&r.ObjectMeta, &old.ObjectMeta, anyName)...)
	for _, t := range finalConditions {
		if len(signingConditionsOf(r, t)) < len(signingConditionsOf(old, t)) {
			errs = append(errs, field.Forbidden(field.NewPath("status", "conditions"),
				fmt.Sprintf("updates may not remove a condition of type %q", t)))
		}
	}
	return errs
}

// sameApproval checks that nothing was approved or denied. Removed conditions are reported by
// signingRequestUpdate.
func sameApproval(r, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	path := field.NewPath("status", "conditions")
	var errs field.ErrorList
	for _, t := range finalConditions[:2] {
		before, after := signingConditionsOf(old, t), signingConditionsOf(r, t)
		switch {
		case len(after) > len(before):
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("updates may not add a condition of type %q", t)))
		case len(after) == len(before) && !equality.Semantic.DeepEqual(before, after):
			errs = append(errs, field.Forbidden(path,
				fmt.Sprintf("updates may not modify a condition of type %q\n%v", t, diff.Diff(before, after))))
		}
	}
	return errs
}

func signingConditionsOf(
	r *certificatesv1.CertificateSigningRequest, t certificatesv1.RequestConditionType,
) []certificatesv1.CertificateSigningRequestCondition {
	var out []certificatesv1.CertificateSigningRequestCondition
	for _, c := range r.Status.Conditions {
		if c.Type == t {
			out = append(out, c)
		}
	}
	return out
}

func sameCertificate(r, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	if bytes.Equal(r.Status.Certificate, old.Status.Certificate) {
		return nil
	}
	return errorList(field.Forbidden(field.NewPath("status", "certificate"), "updates may not set certificate content"))
}
