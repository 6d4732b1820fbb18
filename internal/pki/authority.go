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
	"time"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	holderLife    = 365 * 24 * time.Hour
	// renewBefore is the rest of a certificate's life at which it is made anew.
	renewBefore = 60 * 24 * time.Hour
	// backdate tolerates clocks that differ a little.
	backdate = time.Hour
)

// Authority signs certificates and keeps them in its directory.
type Authority struct {
	dir  string
	pair Pair
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	now  func() time.Time
}

// Open loads the authority in dir, or makes a new one when there is none or when
// it is near its end.
func Open(dir string, now func() time.Time) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	a := &Authority{dir: dir, now: now}
	if err := locked(dir, a.load); err != nil {
		return nil, fmt.Errorf("certificate authority in %s: %w", dir, err)
	}
	return a, nil
}

// load reads the authority that is there, or creates one.
func (a *Authority) load() error {
	pair, cert, key, err := readPair(a.dir, "ca")
	if err == nil && cert.IsCA && a.fresh(cert) {
		a.pair, a.cert, a.key = pair, cert, key
		return nil
	}
	if err != nil && !isUnusable(err) {
		return err
	}
	return a.create()
}

// CertPEM is the authority's own certificate.
func (a *Authority) CertPEM() []byte { return a.pair.Cert }

func (a *Authority) create() error {
	key, err := newKey()
	if err != nil {
		return err
	}
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

// sign makes a certificate for template and stores it under name.
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

// usable says whether a stored certificate still serves.
func (a *Authority) usable(cert *x509.Certificate) bool {
	return a.fresh(cert) && cert.CheckSignatureFrom(a.cert) == nil
}

func (a *Authority) fresh(cert *x509.Certificate) bool {
	now := a.now()
	return !now.Before(cert.NotBefore) && now.Add(renewBefore).Before(cert.NotAfter)
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
