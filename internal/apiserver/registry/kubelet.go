package registry

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	core "github.com/allot-dev/allot/api/core/v1"
)

// kubelets reaches the containers of pods through the kubelets of their nodes.
type kubelets struct {
	pods      *genericregistry.Store
	others    *Lookup
	transport http.RoundTripper
}

// pod returns a pod, or NotFound.
func (k kubelets) pod(ctx context.Context, name string) (*core.Pod, error) {
	obj, err := k.pods.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return obj.(*core.Pod), nil
}

// kubeletOf returns the kubelet of a pod's node, and its address. For simulated nodes, which have no
// kubelet, the error says what the pod lacks.
func (k kubelets) kubeletOf(ctx context.Context, pod *core.Pod, lacks string) (*corev1.Node, *url.URL, error) {
	node, ok, err := k.others.Node(ctx, pod.Spec.NodeName)
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, nil, apierrors.NewNotFound(corev1.Resource("nodes"), pod.Spec.NodeName)
	}
	if k.transport == nil || isSimulated(node) {
		return nil, nil, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status:  metav1.StatusFailure,
			Code:    http.StatusNotImplemented,
			Reason:  "NotImplemented",
			Message: "pod " + pod.Name + " has " + lacks + ": it runs on a simulated node",
		}}
	}
	host, ok := addressOf(node)
	if !ok {
		return nil, nil, apierrors.NewServiceUnavailable(fmt.Sprintf("node %s has reported no address", node.Name))
	}
	port := strconv.Itoa(int(node.Status.DaemonEndpoints.KubeletEndpoint.Port))
	return node, &url.URL{Scheme: "https", Host: net.JoinHostPort(host, port)}, nil
}

// isSimulated reports whether a node has no kubelet, which reports the port on which it serves.
func isSimulated(n *corev1.Node) bool { return n.Status.DaemonEndpoints.KubeletEndpoint.Port == 0 }

// addressOf returns the address at which a node is reached, in the order of preference of
// kubeadm, which needs no DNS.
func addressOf(n *corev1.Node) (string, bool) {
	for _, t := range []corev1.NodeAddressType{
		corev1.NodeInternalIP, corev1.NodeExternalIP, corev1.NodeHostName, corev1.NodeInternalDNS, corev1.NodeExternalDNS,
	} {
		i := slices.IndexFunc(n.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == t && a.Address != "" })
		if i >= 0 {
			return n.Status.Addresses[i].Address, true
		}
	}
	return "", false
}

// containerOf returns the name of the container that a client means.
func containerOf(pod *core.Pod, name string) (string, error) {
	var names []string
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			names = append(names, list[i].Name)
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		names = append(names, pod.Spec.EphemeralContainers[i].Name)
	}
	switch {
	case name != "" && !slices.Contains(names, name):
		return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, pod.Name))
	case name != "":
		return name, nil
	case len(pod.Spec.Containers) == 1:
		return pod.Spec.Containers[0].Name, nil
	}
	return "", apierrors.NewBadRequest(
		fmt.Sprintf("a container name must be specified for pod %s, choose one of: %s", pod.Name, names))
}
