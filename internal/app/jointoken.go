package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	bootstraputil "k8s.io/cluster-bootstrap/token/util"

	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/cli"
)

// defaultTokenLife is the default life of a token with which machines join.
const defaultTokenLife = 24 * time.Hour

// joinOptions are the flags of allot join-token.
type joinOptions struct {
	target    target
	life      time.Duration
	join      cli.Join
	tokenOnly bool
}

func newJoinTokenCommand(streams Streams) *cobra.Command {
	var o joinOptions
	cmd := &cobra.Command{
		Use:   "join-token",
		Short: "Create a token with which machines join as nodes, and print how",
		Long: "Create a bootstrap token, and print a script that makes a machine a node: it writes a bootstrap kubeconfig with that\n" +
			"token, the certificate of the server and a configuration, and runs the kubelet, which must be in the PATH. The kubelet\n" +
			"requests a certificate, which is approved and signed, and needs the token no more then. Arguments of the script are\n" +
			"passed to the kubelet.",
		Example: "  allot join-token | ssh root@machine sh\n" +
			"  allot join-token --ttl 1h --node-name gpu-1 > join.sh",
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			return o.check()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.run(cmd.Context(), streams); err != nil {
				return fmt.Errorf("join-token: %w", err)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.target.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster")
	flags.StringVar(&o.target.dataDir, "data-dir", "", "data directory of an allot up, whose kubeconfig is used")
	flags.DurationVar(&o.life, "ttl", defaultTokenLife, "how long the token is valid; 0 is forever")
	flags.StringVar(&o.join.Server, "server", "",
		"URL at which the machine reaches the API server (default: that of the kubeconfig)")
	flags.StringVar(&o.join.NodeName, "node-name", "", "name of the node (default: the name of the machine)")
	flags.StringVar(&o.join.Dir, "kubelet-dir", cli.KubeletDir, "folder of the kubelet on the machine")
	flags.StringVar(&o.join.Runtime, "container-runtime-endpoint", "unix:///run/containerd/containerd.sock",
		"endpoint of the container runtime on the machine")
	flags.BoolVar(&o.tokenOnly, "token-only", false, "print the token alone")
	return cmd
}

func (o *joinOptions) check() error {
	if o.life < 0 || o.life > 0 && o.life < time.Second {
		return fmt.Errorf("--ttl must be 0 or at least 1s, got %s", o.life)
	}
	if name := o.join.NodeName; name != "" {
		if faults := validation.IsDNS1123Subdomain(name); len(faults) > 0 {
			return fmt.Errorf("--node-name: %q: %s", name, strings.Join(faults, "; "))
		}
	}
	if text := o.join.Server; text != "" {
		if u, err := url.Parse(text); err != nil || u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("--server must be a URL such as https://192.0.2.1:6443, got %q", text)
		}
	}
	if !strings.HasPrefix(o.join.Runtime, "unix://") {
		return fmt.Errorf("--container-runtime-endpoint must begin with unix://, got %q", o.join.Runtime)
	}
	if err := o.join.Check(); err != nil {
		return fmt.Errorf("--kubelet-dir: %w", err)
	}
	return nil
}

func (o *joinOptions) run(ctx context.Context, streams Streams) error {
	cfg, _, err := o.target.config(false)
	if err != nil {
		return err
	}
	if err := o.complete(cfg); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	if o.join.Token, err = bootstraputil.GenerateBootstrapToken(); err != nil {
		return err
	}
	if o.life > 0 {
		o.join.Expires = time.Now().Add(o.life)
	}
	secret := tokenSecret(o.join.Token, o.join.Expires)
	if _, err := client.CoreV1().Secrets(secret.Namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the token: %w", err)
	}
	if o.tokenOnly {
		_, err := fmt.Fprintln(streams.Out, o.join.Token)
		return err
	}
	return cli.WriteJoinScript(streams.Out, o.join)
}

// complete sets what a machine must know of the server of cfg.
func (o *joinOptions) complete(cfg *rest.Config) error {
	if o.join.Server == "" {
		o.join.Server = cfg.Host
	}
	if o.join.CA = cfg.CAData; len(o.join.CA) == 0 && cfg.CAFile != "" {
		var err error
		if o.join.CA, err = os.ReadFile(cfg.CAFile); err != nil {
			return err
		}
	}
	if len(o.join.CA) == 0 {
		return errors.New("the kubeconfig has no certificate by which a machine can verify the server")
	}
	if onThisMachine(o.join.Server) {
		o.join.Warnings = append(o.join.Warnings, "only this machine reaches that address; for others, run allot up "+
			"with --listen ADDRESS:PORT, or give --server")
	}
	o.join.FeatureGates = kubeletGates()
	return nil
}

// kubeletGates returns the feature gates of a kubelet 1.37 that runs pods with claims of their group.
func kubeletGates() []string { return []string{"DRAWorkloadResourceClaims", "GenericWorkload"} }

// onThisMachine reports whether the host of a URL is a loopback address.
func onThisMachine(server string) bool {
	u, err := url.Parse(server)
	return err == nil && loopbackHost(u.Hostname())
}

// tokenSecret returns the secret of a bootstrap token of machines that join.
func tokenSecret(token string, expires time.Time) *corev1.Secret {
	id, private, _ := strings.Cut(token, ".")
	data := map[string]string{
		bootstrapapi.BootstrapTokenIDKey:               id,
		bootstrapapi.BootstrapTokenSecretKey:           private,
		bootstrapapi.BootstrapTokenUsageAuthentication: "true",
		bootstrapapi.BootstrapTokenExtraGroupsKey:      rbac.JoiningGroup,
		bootstrapapi.BootstrapTokenDescriptionKey:      "created by allot join-token",
	}
	if !expires.IsZero() {
		data[bootstrapapi.BootstrapTokenExpirationKey] = expires.UTC().Format(time.RFC3339)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceSystem, Name: bootstraputil.BootstrapTokenSecretName(id),
		},
		Type:       bootstrapapi.SecretTypeBootstrapToken,
		StringData: data,
	}
}
