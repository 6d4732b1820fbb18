package pki

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// request returns a request for a node's certificate, which also requests to be an authority.
func request(t *testing.T) *x509.CertificateRequest {
	t.Helper()
	key, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:     pkix.Name{CommonName: "system:node:one", Organization: []string{"system:nodes"}},
		DNSNames:    []string{"one"},
		IPAddresses: []net.IP{net.ParseIP("192.0.2.1")},
		// basicConstraints: CA=TRUE
		ExtraExtensions: []pkix.Extension{{Id: []int{2, 5, 29, 19}, Critical: true, Value: []byte{0x30, 3, 1, 1, 0xff}}},
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificateRequest(der)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestIssue(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	a := open(t, dir, now)
	files := Files{Cert: filepath.Join(dir, "ca.crt"), Key: filepath.Join(dir, "ca.key"), Now: func() time.Time { return now }}
	if err := files.Check(); err != nil {
		t.Fatal(err)
	}
	for name, issuer := range map[string]interface {
		Issue(request Request) ([]byte, error)
	}{"directory": a, "files": files} {
		for _, c := range []struct{ life, until time.Duration }{
			{time.Hour, time.Hour},
			{8 * time.Hour, 8*time.Hour - requestBackdate},
			{2 * authorityLife, authorityLife},
		} {
			made, err := issuer.Issue(Request{
				Request: request(t), Usage: x509.KeyUsageDigitalSignature,
				ExtUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, Life: c.life,
			})
			if err != nil {
				t.Fatal(err)
			}
			cert := parse(t, made)
			if err := cert.CheckSignatureFrom(a.cert); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if until := cert.NotAfter.Sub(now).Round(time.Minute); until != c.until {
				t.Errorf("%s: a certificate for %s lasts %s, want %s", name, c.life, until, c.until)
			}
			if cert.IsCA || cert.Subject.CommonName != "system:node:one" || cert.VerifyHostname("192.0.2.1") != nil ||
				cert.KeyUsage != x509.KeyUsageDigitalSignature || cert.ExtKeyUsage[0] != x509.ExtKeyUsageClientAuth {
				t.Errorf("%s: another certificate than the requested one: authority %t, %s, %v, %v", name, cert.IsCA, cert.Subject,
					cert.IPAddresses, cert.ExtKeyUsage)
			}
		}
	}
}

func TestFilesOfNoAuthority(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	issue(t, open(t, dir, now))
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(path("none"), []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range []Files{
		{Cert: path("absent"), Key: path("ca.key")},
		{Cert: path("ca.crt"), Key: path("absent")},
		{Cert: path("none"), Key: path("ca.key")},
		{Cert: path("ca.crt"), Key: path("server.key")},
		{Cert: path("server.crt"), Key: path("server.key")},
	} {
		f.Now = time.Now
		if err := f.Check(); err == nil {
			t.Errorf("%s and %s are no authority", f.Cert, f.Key)
		}
		if _, err := f.Issue(Request{Request: request(t), Life: time.Hour}); err == nil {
			t.Errorf("%s and %s have signed", f.Cert, f.Key)
		}
	}
	expired := Files{Cert: path("ca.crt"), Key: path("ca.key"), Now: func() time.Time { return now.Add(authorityLife) }}
	if made, err := expired.Issue(Request{Request: request(t), Life: time.Hour}); err == nil {
		t.Errorf("an authority that has expired has signed %s", bytes.TrimSpace(made))
	}
}
