package apiserver_test

import (
	"bytes"
	"crypto/tls"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/allot-dev/allot/internal/apiserver"
)

// A server that runs for most of a year serves a new certificate, and writes one for each user,
// before the old ones expire.
func TestCertificatesAreRenewedWhileAServerRuns(t *testing.T) {
	dir := t.TempDir()
	var behind atomic.Int64
	behind.Store(int64(300 * 24 * time.Hour))
	clock := func() time.Time { return time.Now().Add(-time.Duration(behind.Load())) }
	server := startServer(t, apiserver.Config{DataDir: dir, UnsafeNoFsync: true}.WithClock(clock, 20*time.Millisecond))
	files := []string{filepath.Join(dir, "admin"), filepath.Join(dir, "part")}
	if err := server.WriteKubeconfig(files[0]); err != nil {
		t.Fatal(err)
	}
	if err := server.WriteUserKubeconfig(files[1], "part", "part", "system:masters"); err != nil {
		t.Fatal(err)
	}
	shown := certificateShown(t, server.URL())
	var old []*rest.Config
	for _, file := range files {
		old = append(old, configFrom(t, file))
	}

	behind.Store(0)
	for i, file := range files {
		eventually(t, "a new certificate in "+file,
			func() bool { return !bytes.Equal(configFrom(t, file).CertData, old[i].CertData) })
	}
	eventually(t, "a new certificate of the server",
		func() bool { return !bytes.Equal(certificateShown(t, server.URL()), shown) })
	for i, file := range files {
		for _, cfg := range []*rest.Config{configFrom(t, file), old[i]} { // the old one is valid until it expires
			if _, err := clientset(t, cfg).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// certificateShown returns the certificate that the server presents on a new connection.
func certificateShown(t *testing.T, server string) []byte {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := tls.Dial("tcp", u.Host, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Raw
}
