package pki

import (
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"time"
)

const (
	// requestBackdate tolerates small clock differences. It is less than the shortest life of a
	// certificate that can be requested.
	requestBackdate = 5 * time.Minute
	// shortLife is the life below which a certificate lasts as long as requested although it begins
	// earlier.
	shortLife = 8 * time.Hour
)

// Request is a certificate that someone else has the key of.
type Request struct {
	// Request has the subject, its names and its key. Its signature must have been checked.
	Request   *x509.CertificateRequest
	Usage     x509.KeyUsage
	ExtUsages []x509.ExtKeyUsage
	// Life is the duration for which the certificate is valid. It ends with its issuer at the latest.
	Life time.Duration
}

// ParseRequest reads a request in PEM form. It does not check the signature.
func ParseRequest(data []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}

// Issue signs a request. The certificate has the names of the request and none of its extensions,
// and is stored nowhere.
func (a *Authority) Issue(r Request) ([]byte, error) {
	var out []byte
	err := a.locked(func() (err error) {
		out, err = issueWith(r, a.cert, a.key, a.now())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("certificate for %s: %w", r.Request.Subject, err)
	}
	return out, nil
}

// Files is an authority that others maintain.
type Files struct {
	Cert, Key string
	// Now is the clock.
	Now func() time.Time
}

// Check returns an error if the files have no certificate with its key.
func (f Files) Check() error {
	_, _, err := f.load()
	return err
}

// Issue signs a request with the current content of the files.
func (f Files) Issue(r Request) ([]byte, error) {
	cert, key, err := f.load()
	if err != nil {
		return nil, err
	}
	return issueWith(r, cert, key, f.Now())
}

func (f Files) load() (*x509.Certificate, crypto.Signer, error) {
	cert, err := os.ReadFile(f.Cert)
	if err != nil {
		return nil, nil, err
	}
	key, err := os.ReadFile(f.Key)
	if err != nil {
		return nil, nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, nil, fmt.Errorf("%s and %s: %w", f.Cert, f.Key, err)
	}
	signer, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || !pair.Leaf.IsCA {
		return nil, nil, fmt.Errorf("%s is not the certificate of an authority", f.Cert)
	}
	return pair.Leaf, signer, nil
}

// issueWith returns a certificate in PEM form, signed by an authority.
func issueWith(r Request, by *x509.Certificate, key crypto.Signer, now time.Time) ([]byte, error) {
	if !now.Before(by.NotAfter) {
		return nil, errors.New("the certificate authority has expired")
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	end := now.Add(r.Life)
	if r.Life >= shortLife {
		end = end.Add(-requestBackdate)
	}
	if end.After(by.NotAfter) {
		end = by.NotAfter
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: r.Request.Subject, NotBefore: now.Add(-requestBackdate), NotAfter: end,
		DNSNames: r.Request.DNSNames, IPAddresses: r.Request.IPAddresses, EmailAddresses: r.Request.EmailAddresses,
		URIs: r.Request.URIs, KeyUsage: r.Usage, ExtKeyUsage: r.ExtUsages, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by, r.Request.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
