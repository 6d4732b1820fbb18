package apiserver

import (
	"context"
	"fmt"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	extensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/allot-dev/allot/internal/apiserver/admission"
	"github.com/allot-dev/allot/internal/apiserver/registry"
)

// addHooks adds the hooks that must complete before the server is ready.
func addHooks(
	cfg *genericapiserver.Config, front *genericapiserver.GenericAPIServer, custom *extensions.CustomResourceDefinitions,
	itself *corev1.Service,
) error {
	if err := followGroups(front, custom); err != nil {
		return err
	}
	if err := front.AddPostStartHook("allot-openapi", func(hook genericapiserver.PostStartHookContext) error {
		documents := &openAPIDocuments{cfg: cfg, front: front, custom: custom}
		return documents.publish(hook.Done())
	}); err != nil {
		return err
	}
	return front.AddPostStartHook("allot-system-objects", func(hook genericapiserver.PostStartHookContext) error {
		return ensureSystemObjects(hook, cfg.LoopbackClientConfig, itself)
	})
}

// ensureSystemObjects creates the namespaces, the priority classes and the Service that always
// exist. It retries until it succeeds, because the caches are still being filled.
func ensureSystemObjects(ctx context.Context, loopback *rest.Config, itself *corev1.Service) error {
	client, err := kubernetes.NewForConfig(loopback)
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		last = createSystemObjects(ctx, client, itself)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("system objects: %w", last)
	}
	return nil
}

func createSystemObjects(ctx context.Context, client kubernetes.Interface, itself *corev1.Service) error {
	for _, name := range admission.SystemNamespaces() {
		_, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			_, err = client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
	}
	for _, class := range admission.SystemPriorityClasses() {
		_, err := client.SchedulingV1().PriorityClasses().Get(ctx, class.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = client.SchedulingV1().PriorityClasses().Create(ctx, &class, metav1.CreateOptions{})
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("priority class %s: %w", class.Name, err)
		}
	}
	_, err := client.CoreV1().Services(itself.Namespace).Get(ctx, itself.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = client.CoreV1().Services(itself.Namespace).Create(ctx, itself, metav1.CreateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("service %s: %w", itself.Name, err)
	}
	return nil
}

// serverService returns the Service of the API server itself, which has the first address of the
// range.
func serverService(cfg Config, addr net.Addr) *corev1.Service {
	target := int32(httpsPort)
	if tcp, ok := addr.(*net.TCPAddr); ok {
		target = int32(tcp.Port)
	}
	ip := registry.FirstServiceIP(cfg.ServiceClusterIPRange).String()
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: "kubernetes",
			Labels: map[string]string{"provider": "kubernetes", "component": "apiserver"},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP: ip, ClusterIPs: []string{ip}, SessionAffinity: corev1.ServiceAffinityNone,
			Ports: []corev1.ServicePort{{
				Name: "https", Protocol: corev1.ProtocolTCP, Port: httpsPort, TargetPort: intstr.FromInt32(target),
			}},
		},
	}
}

// httpsPort is the port of the Service of the API server.
const httpsPort = 443
