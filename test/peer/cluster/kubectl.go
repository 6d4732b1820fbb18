package cluster

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Kubectl runs kubectl, which is in allot's binary, and returns its output.
func (k *Kubernetes) Kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	binary, err := AllotBinary()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, binary, append([]string{"kubectl", "--kubeconfig", k.Kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// hasDefaultAccount returns an error until the controller manager has created the service account
// of pods.
func hasDefaultAccount(ctx context.Context, clients kubernetes.Interface) error {
	_, err := clients.CoreV1().ServiceAccounts(corev1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	return err
}
