package noderights

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

// A node may request a kubelet's certificate with its own name only.
func TestCertificatesOfNodes(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		signer, name string
		op           admission.Operation
		want         string
	}{
		{certificatesv1.KubeAPIServerClientKubeletSignerName, "system:node:a", admission.Create, ""},
		{certificatesv1.KubeletServingSignerName, "system:node:a", admission.Create, ""},
		{certificatesv1.KubeAPIServerClientKubeletSignerName, "system:node:b", admission.Create, "CN=system:node:a"},
		{certificatesv1.KubeletServingSignerName, "system:node:b", admission.Create, "CN=system:node:a"},
		{certificatesv1.KubeletServingSignerName, "", admission.Create, "unable to parse csr"},
		{certificatesv1.KubeletServingSignerName, "system:node:b", admission.Update, ""},
		{"example.com/other", "system:node:b", admission.Create, ""},
	} {
		request := &certificatesv1.CertificateSigningRequest{
			Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: c.signer},
		}
		if c.name != "" {
			der, err := x509.CreateCertificateRequest(rand.Reader,
				&x509.CertificateRequest{Subject: pkix.Name{CommonName: c.name}}, key)
			if err != nil {
				t.Fatal(err)
			}
			request.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
		}
		err := (&Authorizer{}).Restrict(t.Context(), admission.NewAttributesRecord(request, nil,
			certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"), "", "r",
			certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests"), "", c.op, nil, false,
			&user.DefaultInfo{Name: "system:node:a", Groups: []string{user.NodesGroup}}))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s for %s: %v", c.signer, c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s for %s: %v, want %q", c.signer, c.name, err, c.want)
		}
	}
}
