package pki

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"slices"
)

// Serving returns a server certificate for hosts, which are DNS names and IP
// addresses. It is stored as <name>.crt and <name>.key.
func (a *Authority) Serving(name string, hosts []string) (Pair, error) {
	template, err := a.template(pkix.Name{CommonName: name}, holderLife)
	if err != nil {
		return Pair{}, fmt.Errorf("certificate %s: %w", name, err)
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	return a.holder(name, template, func(cert *x509.Certificate) bool { return isFor(cert, hosts) })
}

// Serves reports whether a certificate returned by Serving is valid for hosts. Servers that share a
// directory and have different names replace each other's file, which must not make the certificate
// in use invalid.
func (a *Authority) Serves(p Pair, hosts []string) bool {
	both, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.usable(both.Leaf) && isFor(both.Leaf, hosts)
}

func isFor(cert *x509.Certificate, hosts []string) bool {
	return !slices.ContainsFunc(hosts, func(h string) bool { return cert.VerifyHostname(h) != nil })
}

// Client returns a certificate that authenticates user as a member of groups.
// It is stored as <name>.crt and <name>.key.
func (a *Authority) Client(name, user string, groups ...string) (Pair, error) {
	template, err := a.template(pkix.Name{CommonName: user, Organization: groups}, holderLife)
	if err != nil {
		return Pair{}, fmt.Errorf("certificate %s: %w", name, err)
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	wanted := slices.Sorted(slices.Values(groups))
	return a.holder(name, template, func(cert *x509.Certificate) bool {
		have := slices.Sorted(slices.Values(cert.Subject.Organization))
		return cert.Subject.CommonName == user && slices.Equal(have, wanted)
	})
}

// Key returns a private key in PEM form, stored as <name>.key next to a certificate that is not
// used. The key is never renewed, because what it has signed must be accepted until it expires.
func (a *Authority) Key(name string) ([]byte, error) {
	var pair Pair
	err := a.locked(func() error {
		stored, _, _, err := readPair(a.dir, name)
		if err == nil {
			pair = stored
			return nil
		}
		if !isUnusable(err) {
			return err
		}
		template, err := a.template(pkix.Name{CommonName: name}, holderLife)
		if err != nil {
			return err
		}
		// not usable for authentication
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageOCSPSigning}
		pair, err = a.sign(name, template)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", name, err)
	}
	return pair.Key, nil
}

// holder returns the stored certificate if it is usable and same accepts it, and a new one
// otherwise.
func (a *Authority) holder(name string, template *x509.Certificate, same func(*x509.Certificate) bool) (Pair, error) {
	var pair Pair
	err := a.locked(func() error {
		stored, cert, _, err := readPair(a.dir, name)
		if err == nil && a.usable(cert) && same(cert) {
			pair = stored
			return nil
		}
		if err != nil && !isUnusable(err) {
			return err
		}
		pair, err = a.sign(name, template)
		return err
	})
	if err != nil {
		return Pair{}, fmt.Errorf("certificate %s: %w", name, err)
	}
	return pair, nil
}
