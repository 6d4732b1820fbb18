package controllers

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/allot-dev/allot/test/peer/cluster"
)

// Side is one of the two control planes that are compared.
type Side struct {
	Name       string
	Kubeconfig string
	Clients    *kubernetes.Clientset
	Dynamic    dynamic.Interface
	Kubelet    *Kubelet

	mapper meta.RESTMapper
}

// NewSide connects to a control plane and starts a Kubelet for it.
func NewSide(ctx context.Context, name string, cfg *rest.Config, kubeconfig string) (*Side, error) {
	s := &Side{Name: name, Kubeconfig: kubeconfig}
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	var err error
	if s.Clients, err = kubernetes.NewForConfig(cfg); err != nil {
		return nil, err
	}
	if s.Dynamic, err = dynamic.NewForConfig(cfg); err != nil {
		return nil, err
	}
	found, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(found)
	s.mapper = restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	s.Kubelet, err = StartKubelet(ctx, s.Clients)
	return s, err
}

// resource returns the client of a resource by any of its names, such as "deploy".
func (s *Side) resource(name, namespace string) (dynamic.ResourceInterface, error) {
	gvr, err := s.mapper.ResourceFor(schema.ParseGroupResource(name).WithVersion(""))
	if err != nil {
		return nil, err
	}
	kind, err := s.mapper.KindFor(gvr)
	if err != nil {
		return nil, err
	}
	return s.forKind(kind, namespace)
}

// forKind returns the client of a kind.
func (s *Side) forKind(kind schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return s.Dynamic.Resource(mapping.Resource), nil
	}
	return s.Dynamic.Resource(mapping.Resource).Namespace(namespace), nil
}

// apply applies a manifest like kubectl apply --server-side.
func (s *Side) apply(ctx context.Context, namespace string, obj *unstructured.Unstructured) error {
	client, err := s.forKind(obj.GroupVersionKind(), namespace)
	if err != nil {
		return err
	}
	_, err = client.Apply(ctx, obj.GetName(), obj, metav1.ApplyOptions{FieldManager: "kubectl", Force: true})
	return err
}

// get returns an object by its reference, "KIND/NAME", or nil.
func (s *Side) get(ctx context.Context, namespace, ref string) (*unstructured.Unstructured, error) {
	kind, name, ok := strings.Cut(ref, "/")
	if !ok {
		return nil, fmt.Errorf("%q is not KIND/NAME", ref)
	}
	client, err := s.resource(kind, namespace)
	if err != nil {
		return nil, err
	}
	obj, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return obj, err
}

// pods returns the pods of a selector, sorted by creation time and name.
func (s *Side) pods(ctx context.Context, namespace, selector string) ([]corev1.Pod, error) {
	list, err := s.Clients.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// kubectl runs kubectl in the namespace.
func (s *Side) kubectl(ctx context.Context, namespace string, args ...string) error {
	binary, err := cluster.AllotBinary()
	if err != nil {
		return err
	}
	args = append([]string{"kubectl", "--kubeconfig", s.Kubeconfig, "-n", namespace}, args...)
	if out, err := exec.CommandContext(ctx, binary, args...).CombinedOutput(); err != nil {
		return errors.New(strings.TrimSpace(string(out)))
	}
	return nil
}
