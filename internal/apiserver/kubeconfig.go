package apiserver

import (
	"fmt"

	"github.com/google/renameio/v2"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/allot-dev/allot/internal/pki"
)

// WriteKubeconfig writes a kubeconfig for the administrator to path, readable by
// its owner only. A reader sees the old file or the new one, never a part.
func (s *Server) WriteKubeconfig(path string) error { return s.writeKubeconfig(path, s.admin) }

// WriteUserKubeconfig writes a kubeconfig for user as a member of groups to path, with a
// certificate that is kept in the server's directory under name.
func (s *Server) WriteUserKubeconfig(path, name, user string, groups ...string) error {
	pair, err := s.authority.Client(name, user, groups...)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	return s.writeKubeconfig(path, pair)
}

func (s *Server) writeKubeconfig(path string, user pki.Pair) error {
	const name = "allot"
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   s.URL(),
		CertificateAuthorityData: s.authority.CertPEM(),
	}
	cfg.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: user.Cert,
		ClientKeyData:         user.Key,
	}
	cfg.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	cfg.CurrentContext = name
	data, err := clientcmd.Write(*cfg)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	if err := renameio.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	return nil
}
