package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	holderLife    = 365 * 24 * time.Hour
	// renewAtRest is the fraction (1/3) of its lifetime at which a certificate is renewed.
	renewAtRest = 3
	// backdate tolerates small clock differences.
	backdate = time.Hour
)

// Authority signs certificates and keeps them in its directory.
type Authority struct {
	dir string
	now func() time.Time

	mu   sync.Mutex // guards the fields below
	pair Pair
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Open loads the authority in dir, or creates one. A certificate that is about to expire is renewed
// with the same key, so that clients with the old certificate trust everything signed until it
// expires.
func Open(dir string, now func() time.Time) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	a := &Authority{dir: dir, now: now}
	if err := a.locked(func() error { return nil }); err != nil {
		return nil, fmt.Errorf("certificate authority in %s: %w", dir, err)
	}
	return a, nil
}

// locked runs f with the current authority of the directory, while no other process reads or
// changes it.
func (a *Authority) locked(f func() error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return locked(a.dir, func() error {
		if err := a.load(); err != nil {
			return err
		}
		return f()
	})
}

// load reads the authority, or creates one.
func (a *Authority) load() error {
	pair, cert, key, err := readPair(a.dir, "ca")
	switch {
	case err == nil && cert.IsCA && a.isFresh(cert):
		a.pair, a.cert, a.key = pair, cert, key
		return nil
	case err == nil && cert.IsCA:
		return a.create(key)
	case err != nil && !isUnusable(err):
		return err
	}
	if key, err = newKey(); err != nil {
		return err
	}
	return a.create(key)
}

// CertPEM returns the certificate of the authority.
func (a *Authority) CertPEM() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pair.Cert
}

// CertFile returns the path of the certificate, which does not change on renewal.
func (a *Authority) CertFile() string { return filepath.Join(a.dir, "ca.crt") }

// create creates a certificate of the authority for key.
func (a *Authority) create(key *ecdsa.PrivateKey) error {
	template, err := a.template(pkix.Name{CommonName: "allot"}, authorityLife)
	if err != nil {
		return err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return err
	}
	a.key = key
	a.pair, err = writePair(a.dir, "ca", der, key)
	return err
}

// sign creates a certificate for template and stores it under name.
func (a *Authority) sign(name string, template *x509.Certificate) (Pair, error) {
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, err
	}
	return writePair(a.dir, name, der, key)
}

// usable reports whether a stored certificate can still be used.
func (a *Authority) usable(cert *x509.Certificate) bool {
	return a.isFresh(cert) && cert.CheckSignatureFrom(a.cert) == nil
}

func (a *Authority) isFresh(cert *x509.Certificate) bool {
	now := a.now()
	rest := cert.NotAfter.Sub(cert.NotBefore) / renewAtRest
	return !now.Before(cert.NotBefore) && now.Add(rest).Before(cert.NotAfter)
}

func (a *Authority) template(subject pkix.Name, life time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := a.now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(life),
	}, nil
}

func newKey() (*ecdsa.PrivateKey, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}
