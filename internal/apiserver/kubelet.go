package apiserver

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/allot-dev/allot/internal/apiserver/rbac"
)

const (
	kubeletDialTimeout = 30 * time.Second
	kubeletKeepAlive   = 30 * time.Second
)

// kubeletTransport returns the transport to kubelets. The server shows them a certificate of its
// own. Theirs are not verified, as they are self-signed by default; kube-apiserver does not verify
// them either unless it is told how.
func (c *certificates) kubeletTransport() http.RoundTripper {
	dialer := &net.Dialer{Timeout: kubeletDialTimeout, KeepAlive: kubeletKeepAlive}
	return &http.Transport{
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: kubeletDialTimeout,
		TLSClientConfig: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			InsecureSkipVerify: true, //nolint:gosec // see the comment of the function
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				pair, err := c.authority.Client("apiserver-kubelet-client", rbac.KubeletClient)
				if err != nil {
					return nil, err
				}
				both, err := tls.X509KeyPair(pair.Cert, pair.Key)
				return &both, err
			},
		},
	}
}
