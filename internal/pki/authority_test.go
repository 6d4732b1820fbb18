package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var hosts = []string{"localhost", "127.0.0.1"}

func open(t *testing.T, dir string, now time.Time) *Authority {
	t.Helper()
	a, err := Open(dir, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func issue(t *testing.T, a *Authority) (serving, admin Pair) {
	t.Helper()
	serving, err := a.Serving("server", hosts)
	if err != nil {
		t.Fatal(err)
	}
	admin, err = a.Client("admin", "admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	return serving, admin
}

func parse(t *testing.T, p []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(p)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestCertificatesVerifyAndAreReused(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	serving, admin := issue(t, open(t, dir, now))

	again := open(t, dir, now.Add(24*time.Hour))
	serving2, admin2 := issue(t, again)
	if !bytes.Equal(serving.Cert, serving2.Cert) || !bytes.Equal(admin.Key, admin2.Key) {
		t.Error("certificates were made anew a day later")
	}

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(again.CertPEM())
	for _, host := range hosts {
		opts := x509.VerifyOptions{Roots: roots, DNSName: host, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
		if _, err := parse(t, serving.Cert).Verify(opts); err != nil {
			t.Errorf("serving certificate for %s: %v", host, err)
		}
	}
	client := parse(t, admin.Cert)
	if _, err := client.Verify(x509.VerifyOptions{Roots: roots,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Errorf("client certificate: %v", err)
	}
	if client.Subject.CommonName != "admin" || client.Subject.Organization[0] != "system:masters" {
		t.Errorf("client subject is %v", client.Subject)
	}
}

func TestRenewal(t *testing.T) {
	now := time.Now()
	tests := []struct {
		name      string
		later     time.Duration
		authority bool // whether the authority is renewed as well
	}{
		{"holder near its end", holderLife*2/3 + time.Minute, false},
		{"holder expired", holderLife + time.Hour, false},
		{"authority near its end", authorityLife*2/3 + time.Minute, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			first := open(t, dir, now)
			serving, _ := issue(t, first)
			second := open(t, dir, now.Add(tt.later))
			serving2, _ := issue(t, second)
			if bytes.Equal(serving.Cert, serving2.Cert) {
				t.Error("serving certificate was not renewed")
			}
			if renewed := !bytes.Equal(first.CertPEM(), second.CertPEM()); renewed != tt.authority {
				t.Errorf("authority renewed: %v, want %v", renewed, tt.authority)
			}
			if err := parse(t, serving2.Cert).CheckSignatureFrom(second.cert); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestChangedHolderOrBrokenFileIsReissued(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	a := open(t, dir, now)
	serving, admin := issue(t, a)
	if p, err := a.Serving("server", append(hosts, "example.test")); err != nil || bytes.Equal(p.Cert, serving.Cert) {
		t.Errorf("another host: err %v, reissued %v", err, !bytes.Equal(p.Cert, serving.Cert))
	}
	if p, err := a.Client("admin", "admin"); err != nil || bytes.Equal(p.Cert, admin.Cert) {
		t.Errorf("fewer groups: err %v, reissued %v", err, !bytes.Equal(p.Cert, admin.Cert))
	}
	if err := os.WriteFile(filepath.Join(dir, "ca.key"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b := open(t, dir, now); bytes.Equal(b.CertPEM(), a.CertPEM()) {
		t.Error("authority without its key was used")
	}
}

// A client that trusts the authority's certificate of before its renewal trusts certificates that
// are signed after it, and vice versa.
func TestRenewedAuthorityIsTrusted(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	clock := now
	a, err := Open(dir, func() time.Time { return clock })
	if err != nil {
		t.Fatal(err)
	}
	first := a.CertPEM()
	signedBefore, _ := issue(t, a)
	clock = now.Add(authorityLife*2/3 + time.Minute) // of a process that continues to run
	signedAfter, _ := issue(t, a)
	second := a.CertPEM()
	if bytes.Equal(first, second) {
		t.Fatal("the authority was not renewed")
	}
	stored, err := os.ReadFile(a.CertFile())
	if err != nil || !bytes.Equal(stored, second) {
		t.Errorf("the file has another certificate: %v", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(first)
	if _, err := parse(t, signedAfter.Cert).Verify(x509.VerifyOptions{Roots: roots, CurrentTime: clock}); err != nil {
		t.Errorf("who has the old certificate: %v", err)
	}
	if err := parse(t, signedBefore.Cert).CheckSignatureFrom(parse(t, second)); err != nil {
		t.Errorf("who has the new certificate: %v", err)
	}
}

// A server keeps its certificate although another one has replaced the file, as long as it is valid
// for the server's names.
func TestServes(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	a := open(t, dir, now)
	serving, _ := issue(t, a)
	if _, err := a.Serving("server", []string{"192.0.2.1"}); err != nil {
		t.Fatal(err)
	}
	if !a.Serves(serving, hosts) {
		t.Error("a new certificate does not do")
	}
	if a.Serves(serving, append(hosts, "192.0.2.1")) {
		t.Error("a certificate does for an address that it does not have")
	}
	if open(t, dir, now.Add(holderLife*2/3+time.Minute)).Serves(serving, hosts) {
		t.Error("a certificate does although a third of its life is left")
	}
	if open(t, t.TempDir(), now).Serves(serving, hosts) {
		t.Error("a certificate of another authority does")
	}
}

// A key is kept when its certificates are renewed, also those of the authority.
func TestKeyIsReused(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	var first []byte
	for _, later := range []time.Duration{0, holderLife - time.Hour, holderLife + time.Hour, authorityLife + time.Hour} {
		key, err := open(t, dir, now.Add(later)).Key("signer")
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = key
		}
		if !bytes.Equal(key, first) {
			t.Errorf("there is another key after %v", later)
		}
	}
	if err := os.Remove(filepath.Join(dir, "signer.key")); err != nil {
		t.Fatal(err)
	}
	if key, err := open(t, dir, now).Key("signer"); err != nil || bytes.Equal(key, first) {
		t.Errorf("no new key in the place of one that is gone: %v", err)
	}
}

// An authority that temporarily cannot be read must not be replaced, because all clients trust it.
func TestUnreadableFileIsNotReplaced(t *testing.T) {
	for _, name := range []string{"ca.key", "server.crt"} {
		dir := t.TempDir()
		issue(t, open(t, dir, time.Now()))
		file := filepath.Join(dir, name)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(name, file); err != nil { // a cycle
			t.Fatal(err)
		}
		a, err := Open(dir, time.Now)
		if err == nil {
			_, err = a.Serving("server", hosts)
		}
		if err == nil {
			t.Errorf("%s was replaced", name)
		}
	}
}

func TestFilesArePrivate(t *testing.T) {
	dir := t.TempDir()
	issue(t, open(t, dir, time.Now()))
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 7 {
		t.Errorf("%d files, want 7", len(entries))
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
	}
}
