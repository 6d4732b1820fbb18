package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// target is the cluster that a command of a person is about, found as by allot kubectl: by
// --kubeconfig, else --data-dir, else $ALLOT_DATA_DIR, else $KUBECONFIG, else the default data
// directory. As a plugin of kubectl, and where nothing was started in the default data directory,
// it is that of kubectl.
type target struct {
	kubeconfig, dataDir string
	context, namespace  string
}

func (t *target) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&t.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster")
	flags.StringVar(&t.dataDir, "data-dir", "", "data directory of an allot up, whose kubeconfig is used")
	flags.StringVar(&t.context, "context", "", "context of the kubeconfig")
	flags.StringVarP(&t.namespace, "namespace", "n", "", "namespace (default: that of the context)")
}

// config returns how to reach the cluster, and the namespace that is meant.
func (t *target) config(plugin bool) (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	var err error
	if rules.ExplicitPath, err = t.file(plugin); err != nil {
		return nil, "", err
	}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: t.context}
	overrides.Context.Namespace = t.namespace
	found := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	cfg, err := found.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, "", errors.New("no cluster is known: give --kubeconfig or --data-dir, or set $KUBECONFIG")
	case err != nil:
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	namespace, _, err := found.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	return cfg, namespace, nil
}

// file returns the kubeconfig to use, or "" for kubectl's own rules.
func (t *target) file(plugin bool) (string, error) {
	if t.kubeconfig != "" {
		return t.kubeconfig, nil
	}
	dir := t.dataDir
	if dir == "" {
		dir = os.Getenv("ALLOT_DATA_DIR")
	}
	if dir != "" {
		return filepath.Join(dir, kubeconfigName), nil
	}
	if plugin || os.Getenv("KUBECONFIG") != "" {
		return "", nil
	}
	dir, err := defaultDataDir()
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, kubeconfigName)
	if _, err := os.Stat(file); err != nil {
		return "", nil //nolint:nilerr // nothing was started there
	}
	return file, nil
}
