package printers

import (
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// CertificateSigningRequest returns the printer of CertificateSigningRequests.
func CertificateSigningRequest() Printer {
	spec, status := certificatesv1.CertificateSigningRequestSpec{}, certificatesv1.CertificateSigningRequestStatus{}
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		ageColumn(),
		column("SignerName", "string", spec, "signerName"),
		column("Requestor", "string", spec, "request"),
		column("RequestedDuration", "string", spec, "expirationSeconds"),
		column("Condition", "string", status, "conditions"),
	}, func(r *certificatesv1.CertificateSigningRequest, now time.Time) []any {
		life := ""
		if s := r.Spec.ExpirationSeconds; s != nil {
			life = duration.HumanDuration(time.Duration(*s) * time.Second)
		}
		return []any{
			r.Name, age(r.CreationTimestamp, now), orNone(r.Spec.SignerName), r.Spec.Username, orNone(life),
			signingCondition(&r.Status),
		}
	})
}

// signingCondition returns the condition of a certificate signing request as kubectl prints it. A
// denial takes precedence over an approval.
func signingCondition(s *certificatesv1.CertificateSigningRequestStatus) string {
	has := map[certificatesv1.RequestConditionType]bool{}
	for _, c := range s.Conditions {
		has[c.Type] = true
	}
	out := "Pending"
	switch {
	case has[certificatesv1.CertificateDenied]:
		out = "Denied"
	case has[certificatesv1.CertificateApproved]:
		out = "Approved"
	}
	if has[certificatesv1.CertificateFailed] {
		out += ",Failed"
	}
	if len(s.Certificate) > 0 {
		out += ",Issued"
	}
	return out
}
