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

// Serves says whether a certificate of Serving is still good for hosts: servers that share a directory and have other
// names replace each other's file, which is no reason to make a new one.
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

// Key returns a private key in PEM form, which is stored as <name>.key beside a certificate that is of no use. Unlike those
// of holders it is never renewed: what it has signed must be accepted for as long as it says itself.
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
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageOCSPSigning} // nobody is let in by it, as without any usage
		pair, err = a.sign(name, template)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", name, err)
	}
	return pair.Key, nil
}

// holder returns the stored certificate when it is usable and same says that it
// speaks of the same holder, else a new one.
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
