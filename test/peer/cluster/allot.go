package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Manifest returns one of the product's rendered manifests.
func Manifest(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(here(), "..", "..", "..", "manifests", name+".yaml"))
	return string(text), err
}

// KubeconfigOf returns a kubeconfig for a service account, as a pod would have it.
func (k *Kubernetes) KubeconfigOf(ctx context.Context, namespace, account string) (string, error) {
	clients, err := kubernetes.NewForConfig(k.Config)
	if err != nil {
		return "", err
	}
	hours := int64(3 * 3600)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hours}}
	request, err = clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token of %s/%s: %w", namespace, account, err)
	}
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["peer"] = &clientcmdapi.Cluster{Server: k.Config.Host, CertificateAuthorityData: k.authority.CertPEM()}
	cfg.AuthInfos["peer"] = &clientcmdapi.AuthInfo{Token: request.Status.Token}
	cfg.Contexts["peer"] = &clientcmdapi.Context{Cluster: "peer", AuthInfo: "peer"}
	cfg.CurrentContext = "peer"
	path := filepath.Join(k.Dir, "account-"+account+".kubeconfig")
	return path, clientcmd.WriteToFile(*cfg, path)
}

// StartAllot starts a component of allot as the user of the kubeconfig, and returns when it is
// ready.
func (k *Kubernetes) StartAllot(
	ctx context.Context, name, kubeconfig, command string, flags ...string,
) (*Process, error) {
	binary, err := AllotBinary()
	if err != nil {
		return nil, err
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	address := "127.0.0.1:" + strconv.Itoa(port)
	args := append([]string{command, "--kubeconfig", kubeconfig, "--health-listen", address}, flags...)
	p, err := StartProcess(k.Dir, name, binary, args...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := until(ctx, p, func() error { return responds(ctx, http.DefaultClient, "http://"+address+"/readyz?verbose") }); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	return p, nil
}

// withoutDeployments removes Deployments, whose pods would need images that do not exist.
func withoutDeployments(manifests string) string {
	var kept []string
	for doc := range strings.SplitSeq(manifests, "\n---") {
		if !strings.Contains(doc, "\nkind: Deployment\n") {
			kept = append(kept, doc)
		}
	}
	return strings.Join(kept, "\n---")
}
