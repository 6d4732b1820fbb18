package registry

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/registry/rest"
	translator "k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// websocketKubelets is the feature that kubelets declare which understand WebSockets.
const websocketKubelets = "ExtendWebSocketsToKubelet"

// stream is a kind of connection to a pod.
type stream struct {
	path, lacks string
	options     func() runtime.Object
	// request returns the name of the container, if one is meant, and the parameters for the kubelet.
	request func(options runtime.Object) (container string, parameters url.Values, streams translator.Options)
	// forward means that the connection is to the pod, not to a container.
	forward bool
}

var (
	execStream = stream{
		path: "exec", lacks: "nothing to run a command in",
		options: func() runtime.Object { return &corev1.PodExecOptions{} },
		request: func(options runtime.Object) (string, url.Values, translator.Options) {
			o := options.(*corev1.PodExecOptions)
			streams := translator.Options{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, Tty: o.TTY}
			parameters := streamParameters(streams)
			parameters["command"] = o.Command
			return o.Container, parameters, streams
		},
	}
	attachStream = stream{
		path: "attach", lacks: "nothing to attach to",
		options: func() runtime.Object { return &corev1.PodAttachOptions{} },
		request: func(options runtime.Object) (string, url.Values, translator.Options) {
			o := options.(*corev1.PodAttachOptions)
			streams := translator.Options{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, Tty: o.TTY}
			return o.Container, streamParameters(streams), streams
		},
	}
	forwardStream = stream{
		path: "portForward", lacks: "no ports", forward: true,
		options: func() runtime.Object { return &corev1.PodPortForwardOptions{} },
		request: func(options runtime.Object) (string, url.Values, translator.Options) {
			parameters := url.Values{}
			if ports := options.(*corev1.PodPortForwardOptions).Ports; len(ports) > 0 {
				texts := make([]string, len(ports))
				for i, p := range ports {
					texts[i] = strconv.Itoa(int(p))
				}
				parameters.Set("port", strings.Join(texts, ","))
			}
			return "", parameters, translator.Options{}
		},
	}
)

// streamParameters returns the parameters by which a kubelet knows which streams a client wants.
func streamParameters(o translator.Options) url.Values {
	out := url.Values{}
	for name, on := range map[string]bool{
		corev1.ExecStdinParam: o.Stdin, corev1.ExecStdoutParam: o.Stdout, corev1.ExecStderrParam: o.Stderr,
		corev1.ExecTTYParam: o.Tty,
	} {
		if on {
			out.Set(name, "1")
		}
	}
	return out
}

// podStream serves connections to a pod.
type podStream struct {
	kubelets
	authorizer authorizer.UnconditionalAuthorizer
	stream     stream
}

var _ rest.Connecter = &podStream{}

// New implements rest.Storage.
func (s *podStream) New() runtime.Object { return s.stream.options() }

// Destroy implements rest.Storage; the store belongs to the pods.
func (s *podStream) Destroy() {}

// NewConnectOptions implements rest.Connecter.
func (s *podStream) NewConnectOptions() (runtime.Object, bool, string) {
	return s.stream.options(), false, ""
}

// ConnectMethods implements rest.Connecter.
func (s *podStream) ConnectMethods() []string { return []string{http.MethodGet, http.MethodPost} }

// Connect returns a handler that passes the connection to the kubelet of the pod's node.
func (s *podStream) Connect(
	ctx context.Context, name string, options runtime.Object, responder rest.Responder,
) (http.Handler, error) {
	if err := s.mayCreate(ctx, name); err != nil {
		return nil, err
	}
	pod, err := s.pod(ctx, name)
	if err != nil {
		return nil, err
	}
	container, parameters, streams := s.stream.request(options)
	path := "/" + s.stream.path + "/" + pod.Namespace + "/" + pod.Name
	if !s.stream.forward {
		if container, err = containerOf(pod, container); err != nil {
			return nil, err
		}
		path += "/" + container
	}
	if pod.Spec.NodeName == "" {
		return nil, apierrors.NewBadRequest("pod " + name + " does not have a host assigned")
	}
	node, location, err := s.kubeletOf(ctx, pod, s.stream.lacks)
	if err != nil {
		return nil, err
	}
	location.Path, location.RawQuery = path, parameters.Encode()
	handler := proxy.NewUpgradeAwareHandler(location, s.transport, false, true, proxy.NewErrorResponder(responder))
	if slices.Contains(node.Status.DeclaredFeatures, websocketKubelets) {
		return handler, nil
	}
	if s.stream.forward {
		return translator.NewTranslatingHandler(handler, translator.NewTunnelingHandler(handler),
			wsstream.IsWebSocketRequestWithTunnelingProtocol), nil
	}
	return translator.NewTranslatingHandler(handler,
		translator.NewStreamTranslatorHandler(location, s.transport, 0, streams),
		wsstream.IsWebSocketRequestWithStreamCloseProtocol), nil
}

// mayCreate checks that the user may create the subresource: a WebSocket begins with a GET request,
// which is authorized as reading.
func (s *podStream) mayCreate(ctx context.Context, name string) error {
	attributes, err := filters.GetAuthorizerAttributes(ctx)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if attributes.GetVerb() == "create" {
		return nil
	}
	decision, reason, err := s.authorizer.Authorize(ctx, createAttributes{attributes})
	if err != nil {
		return err
	}
	if decision != authorizer.DecisionAllow {
		return apierrors.NewForbidden(corev1.Resource("pods"), name, forbiddenError(reason))
	}
	return nil
}

// createAttributes is a request with the verb create.
type createAttributes struct{ authorizer.Attributes }

// GetVerb implements authorizer.Attributes.
func (createAttributes) GetVerb() string { return "create" }

// forbiddenError is the reason why a user may not do something.
type forbiddenError string

func (f forbiddenError) Error() string { return string(f) }
