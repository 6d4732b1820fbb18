package apiserver

import (
	"bytes"
	"fmt"

	"github.com/google/renameio/v2"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/allot-dev/allot/internal/pki"
)

// kubeconfig is a file with which a user accesses the server.
type kubeconfig struct {
	path, server string
	name, user   string // name under which the certificate is stored
	groups       []string
	written      []byte
}

// WriteKubeconfig writes a kubeconfig for the administrator to path, readable only by its owner,
// and again when its certificate is renewed. A reader sees either the old file or the new one.
func (s *Server) WriteKubeconfig(path string) error {
	return s.WriteUserKubeconfig(path, "admin", "allot-admin", "system:masters")
}

// WriteUserKubeconfig writes a kubeconfig for user as a member of groups to path, with a
// certificate that is stored in the server's directory under name, and again when that is renewed.
func (s *Server) WriteUserKubeconfig(path, name, user string, groups ...string) error {
	return s.certificates.addKubeconfig(&kubeconfig{path: path, server: s.URL(), name: name, user: user, groups: groups})
}

// write writes the file unless its content is unchanged.
func (k *kubeconfig) write(authority *pki.Authority) error {
	pair, err := authority.Client(k.name, k.user, k.groups...)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	data, err := k.encode(authority.CertPEM(), pair)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	if bytes.Equal(data, k.written) {
		return nil
	}
	if err := renameio.WriteFile(k.path, data, 0o600); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	k.written = data
	return nil
}

func (k *kubeconfig) encode(authority []byte, user pki.Pair) ([]byte, error) {
	const name = "allot"
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   k.server,
		CertificateAuthorityData: authority,
	}
	cfg.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: user.Cert,
		ClientKeyData:         user.Key,
	}
	cfg.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	cfg.CurrentContext = name
	return clientcmd.Write(*cfg)
}
