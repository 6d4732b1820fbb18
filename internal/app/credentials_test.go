package app

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/allot-dev/allot/internal/pki"
)

// mirror is a server that responds with the client's user, according to its certificate and token.
func mirror(t *testing.T, authority *pki.Authority) string {
	t.Helper()
	pair, err := authority.Serving("server", []string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := "nobody"
		if len(r.TLS.PeerCertificates) > 0 {
			name = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		fmt.Fprint(w, name, r.Header.Get("Authorization"))
	}))
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(authority.CertPEM())
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{cert},
		ClientAuth:   tls.VerifyClientCertIfGiven,
		ClientCAs:    clients,
	}
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// asked returns the mirror's response to a client of cfg.
func asked(t *testing.T, cfg *rest.Config) string {
	t.Helper()
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Get(cfg.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// A process uses the current content of the kubeconfig. If that is not usable, the previous
// credentials remain in use.
func TestCredentialsFollowTheKubeconfig(t *testing.T) {
	authority, err := pki.Open(t.TempDir(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	server := mirror(t, authority)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	write := func(user, server string, change func(*clientcmdapi.Config)) {
		t.Helper()
		pair, err := authority.Client(user, user)
		if err != nil {
			t.Fatal(err)
		}
		cfg := clientcmdapi.NewConfig()
		cfg.Clusters["a"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: authority.CertPEM()}
		cfg.AuthInfos["a"] = &clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key}
		cfg.Contexts["a"] = &clientcmdapi.Context{Cluster: "a", AuthInfo: "a"}
		cfg.CurrentContext = "a"
		if change != nil {
			change(cfg)
		}
		if err := clientcmd.WriteToFile(*cfg, file); err != nil {
			t.Fatal(err)
		}
	}
	write("first", server, nil)
	opts := apartOptions{kubeconfig: file}
	cfg, err := opts.config()
	if err != nil {
		t.Fatal(err)
	}
	now, said := time.Now(), ""
	cfg, err = opts.reloadingConfig(cfg, func() time.Time { return now },
		func(format string, args ...any) { said += fmt.Sprintf(format, args...) })
	if err != nil {
		t.Fatal(err)
	}
	expect := func(who, saying string) {
		t.Helper()
		if got := asked(t, cfg); got != who {
			t.Errorf("the client is %q, not %q", got, who)
		}
		if !strings.Contains(said, saying) || saying == "" && said != "" {
			t.Errorf("said %q, not %q", said, saying)
		}
		said = ""
	}
	expect("first", "")
	write("second", server, nil)
	expect("first", "") // the file is not read again so soon
	later := func() { now = now.Add(lookAtKubeconfig) }
	later()
	expect("second", "is used as it is now")
	later()
	expect("second", "")
	if err := os.WriteFile(file, []byte("half a ki"), 0o600); err != nil {
		t.Fatal(err)
	}
	later()
	expect("second", "the old one is used on")
	later()
	expect("second", "") // which was already reported
	write("third", "https://127.0.0.1:1", nil)
	later()
	expect("second", "the API server is https://127.0.0.1:1 now")
	write("fourth", server, func(c *clientcmdapi.Config) { c.CurrentContext = "another" })
	later()
	expect("fourth", "is used as it is now") // of the context that was in use at the start
	write("fourth", server, func(c *clientcmdapi.Config) { c.AuthInfos["a"] = &clientcmdapi.AuthInfo{Token: "t"} })
	later()
	expect("nobodyBearer t", "is used as it is now")
}
