package certificates

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

const (
	// finishedLife is the time for which a request is kept that was signed, denied or failed, and
	// pendingLife the time for which one is kept that waits.
	finishedLife = time.Hour
	pendingLife  = 24 * time.Hour

	// certificateLife is the longest life of a certificate, shortestLife the shortest one.
	certificateLife = 365 * 24 * time.Hour
	shortestLife    = 10 * time.Minute

	nodesGroup = "system:nodes"
	nodePrefix = "system:node:"
)

// Approval is a permission: a request is approved if its requester has it.
type Approval struct {
	// Subresource is the subresource of CertificateSigningRequests that the requester may create.
	Subresource string
	// Message is the message of the condition.
	Message string
}

// Approvals returns the permissions that approve a request, the narrowest first.
func Approvals(r *certificatesv1.CertificateSigningRequest, request *x509.CertificateRequest) []Approval {
	if r.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName ||
		kubeletClient(request, r.Spec.Usages) != nil {
		return nil
	}
	node := Approval{"nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview."}
	self := Approval{"selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview."}
	if r.Spec.Username == request.Subject.CommonName {
		return []Approval{self, node}
	}
	return []Approval{node}
}

// Decided reports whether a request was approved or denied.
func Decided(r *certificatesv1.CertificateSigningRequest) bool {
	return hasCondition(r, certificatesv1.CertificateApproved) || hasCondition(r, certificatesv1.CertificateDenied)
}

// Signable reports whether a request is to be signed by the authority of the cluster.
func Signable(r *certificatesv1.CertificateSigningRequest) bool {
	_, known := faults[r.Spec.SignerName]
	return known && len(r.Status.Certificate) == 0 && hasCondition(r, certificatesv1.CertificateApproved) &&
		!hasCondition(r, certificatesv1.CertificateDenied) && !hasCondition(r, certificatesv1.CertificateFailed)
}

func hasCondition(r *certificatesv1.CertificateSigningRequest, t certificatesv1.RequestConditionType) bool {
	return slices.ContainsFunc(r.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
		return c.Type == t && (c.Status == "" || c.Status == corev1.ConditionTrue)
	})
}

// faults are the rules of the signers. The legacy signer has none.
var faults = map[string]func(*x509.CertificateRequest, []certificatesv1.KeyUsage) error{
	certificatesv1.KubeAPIServerClientSignerName:        apiClient,
	certificatesv1.KubeAPIServerClientKubeletSignerName: kubeletClient,
	certificatesv1.KubeletServingSignerName:             kubeletServing,
	certificatesv1beta1.LegacyUnknownSignerName: func(*x509.CertificateRequest, []certificatesv1.KeyUsage) error {
		return nil
	},
}

// Fault returns the reason why a signable request is not signed.
func Fault(r *certificatesv1.CertificateSigningRequest, request *x509.CertificateRequest) error {
	return faults[r.Spec.SignerName](request, r.Spec.Usages)
}

func apiClient(_ *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
	known := []certificatesv1.KeyUsage{
		certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth,
	}
	for _, u := range usages {
		if !slices.Contains(known, u) {
			return fmt.Errorf("invalid usage for client certificate: %s", u)
		}
	}
	if !slices.Contains(usages, certificatesv1.UsageClientAuth) {
		return fmt.Errorf("missing required usage for client certificate: %s", certificatesv1.UsageClientAuth)
	}
	return nil
}

func kubeletClient(request *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
	switch {
	case !slices.Equal(request.Subject.Organization, []string{nodesGroup}):
		return errors.New("subject organization is not system:nodes")
	case len(request.DNSNames) > 0:
		return errors.New("DNS subjectAltNames are not allowed")
	case len(request.EmailAddresses) > 0:
		return errors.New("Email subjectAltNames are not allowed")
	case len(request.IPAddresses) > 0:
		return errors.New("IP subjectAltNames are not allowed")
	case len(request.URIs) > 0:
		return errors.New("URI subjectAltNames are not allowed")
	case !strings.HasPrefix(request.Subject.CommonName, nodePrefix):
		return errors.New("subject common name does not begin with system:node:") //nolint:revive // Kubernetes' message
	}
	return kubeletUsages(usages, certificatesv1.UsageClientAuth)
}

func kubeletServing(request *x509.CertificateRequest, usages []certificatesv1.KeyUsage) error {
	switch {
	case !slices.Equal(request.Subject.Organization, []string{nodesGroup}):
		return errors.New("subject organization is not system:nodes")
	case len(request.DNSNames) == 0 && len(request.IPAddresses) == 0:
		return errors.New("DNS or IP subjectAltName is required")
	case len(request.EmailAddresses) > 0:
		return errors.New("Email subjectAltNames are not allowed")
	case len(request.URIs) > 0:
		return errors.New("URI subjectAltNames are not allowed")
	case !strings.HasPrefix(request.Subject.CommonName, nodePrefix):
		return errors.New("subject common name does not begin with system:node:") //nolint:revive // Kubernetes' message
	}
	return kubeletUsages(usages, certificatesv1.UsageServerAuth)
}

// kubeletUsages checks the usages of a kubelet's certificate. Keys that are not of RSA need no key
// encipherment.
func kubeletUsages(usages []certificatesv1.KeyUsage, auth certificatesv1.KeyUsage) error {
	short := sets.New(certificatesv1.UsageDigitalSignature, auth)
	long := short.Clone().Insert(certificatesv1.UsageKeyEncipherment)
	if have := sets.New(usages...); !have.Equal(short) && !have.Equal(long) {
		return fmt.Errorf("usages did not match %v", sets.List(long))
	}
	return nil
}

// Life returns the life of the certificate for a request.
func Life(r *certificatesv1.CertificateSigningRequest) time.Duration {
	if r.Spec.ExpirationSeconds == nil {
		return certificateLife
	}
	return max(shortestLife, min(certificateLife, time.Duration(*r.Spec.ExpirationSeconds)*time.Second))
}

// Expiry returns the time at which a request is deleted.
func Expiry(r *certificatesv1.CertificateSigningRequest) time.Time {
	end := r.CreationTimestamp.Add(pendingLife)
	if len(r.Status.Conditions) == 0 {
		return end
	}
	var ends []time.Time
	issued := len(r.Status.Certificate) > 0
	for _, c := range r.Status.Conditions {
		switch {
		case c.LastUpdateTime.IsZero():
		case c.Type == certificatesv1.CertificateApproved && !issued:
			ends = append(ends, c.LastUpdateTime.Add(pendingLife))
		case c.Type == certificatesv1.CertificateApproved, c.Type == certificatesv1.CertificateDenied,
			c.Type == certificatesv1.CertificateFailed:
			ends = append(ends, c.LastUpdateTime.Add(finishedLife))
		}
	}
	if until, ok := validUntil(r.Status.Certificate); ok && hasCondition(r, certificatesv1.CertificateApproved) {
		ends = append(ends, until)
	}
	if len(ends) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(ends, time.Time.Compare)
}

// validUntil returns the end of the first certificate.
func validUntil(data []byte) (time.Time, bool) {
	block, _ := pem.Decode(data)
	if block == nil {
		return time.Time{}, false
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}, false
	}
	return cert.NotAfter, true
}
