package apiserver_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// kubelet is a server with the API of a kubelet. A command in a container prints its arguments.
type kubelet struct {
	mu       sync.Mutex
	requests []string // path and parameters
	users    []string
}

func (k *kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	k.requests = append(k.requests, r.URL.Path+"?"+r.URL.Query().Encode())
	k.users = append(k.users, r.TLS.PeerCertificates[0].Subject.CommonName)
	k.mu.Unlock()
	switch {
	case strings.HasPrefix(r.URL.Path, "/containerLogs/") && r.URL.Query().Get("previous") != "":
		http.Error(w, "previous terminated container not found", http.StatusBadRequest)
	case strings.HasPrefix(r.URL.Path, "/containerLogs/"):
		fmt.Fprintln(w, "a line")
	default:
		k.stream(w, r)
	}
}

// stream writes the command to the standard output.
func (k *kubelet) stream(w http.ResponseWriter, r *http.Request) {
	if _, err := httpstream.Handshake(r, w, []string{"v4.channel.k8s.io"}); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	opened := make(chan httpstream.Stream, 2)
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		opened <- s
		return nil
	})
	if connection == nil {
		return
	}
	defer connection.Close()
	var status httpstream.Stream
	for range 2 {
		switch s := <-opened; s.Headers().Get(corev1.StreamType) {
		case corev1.StreamTypeStdout:
			fmt.Fprint(s, strings.Join(r.URL.Query()["command"], " "))
			s.Close()
		case corev1.StreamTypeError:
			status = s
		}
	}
	fmt.Fprint(status, `{"status":"Success"}`)
	status.Close()
	select {
	case <-connection.CloseChan():
	case <-time.After(10 * time.Second):
	}
}

func (k *kubelet) lastRequest() (request, who string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.requests) == 0 {
		return "", ""
	}
	return k.requests[len(k.requests)-1], k.users[len(k.users)-1]
}

// startKubelet runs a kubelet and creates its node.
func startKubelet(t *testing.T, client kubernetes.Interface) (*kubelet, string) {
	t.Helper()
	k := &kubelet{}
	server := httptest.NewUnstartedServer(k)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(at.Port())
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: uniqueName("real")},
		Status: corev1.NodeStatus{
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeHostName, Address: "no-such-host.invalid"},
				{Type: corev1.NodeInternalIP, Address: at.Hostname()},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)}},
		},
	}
	if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return k, node.Name
}

func podOn(t *testing.T, client kubernetes.Interface, ns, name, node string, containers ...string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{NodeName: node, TerminationGracePeriodSeconds: new(int64(0))},
	}
	for _, c := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: c, Image: "i"})
	}
	if _, err := client.CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestLogsOfARealNode(t *testing.T) {
	client, ns := clientset(t, remote(t)), namespace(t)
	k, node := startKubelet(t, client)
	podOn(t, client, ns, "one", node, "main")
	podOn(t, client, ns, "two", node, "first", "second")
	podOn(t, client, ns, "nowhere", "", "main")
	podOn(t, client, ns, "lost", "no-such-node", "main")
	logs := func(pod string, o corev1.PodLogOptions) (string, error) {
		out, err := client.CoreV1().Pods(ns).GetLogs(pod, &o).Do(t.Context()).Raw()
		return string(out), err
	}
	out, err := logs("one", corev1.PodLogOptions{})
	if request, who := k.lastRequest(); err != nil || out != "a line\n" || who != "kube-apiserver-kubelet-client" ||
		request != "/containerLogs/"+ns+"/one/main?stream=All" {
		t.Errorf("log %q, error %v; the kubelet was asked by %s for %s", out, err, who, request)
	}
	since := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	_, err = logs("two", corev1.PodLogOptions{
		Container: "second", Timestamps: true, TailLines: new(int64(3)), LimitBytes: new(int64(9)), SinceTime: &since,
	})
	if request, _ := k.lastRequest(); err != nil || request != "/containerLogs/"+ns+
		"/two/second?limitBytes=9&sinceTime=2026-01-02T03%3A04%3A05Z&stream=All&tailLines=3&timestamps=true" {
		t.Errorf("error %v, the kubelet was asked for %s", err, request)
	}
	if out, err := logs("nowhere", corev1.PodLogOptions{}); err != nil || out != "" {
		t.Errorf("log of a pod without a node: %q, %v", out, err)
	}
	for _, c := range []struct {
		pod     string
		options corev1.PodLogOptions
		is      func(error) bool
		text    string
	}{
		{"one", corev1.PodLogOptions{Previous: true}, apierrors.IsBadRequest, "previous terminated container not found"},
		{"one", corev1.PodLogOptions{Container: "other"}, apierrors.IsBadRequest, "container other is not valid for pod one"},
		{"one", corev1.PodLogOptions{TailLines: new(int64(-1))}, apierrors.IsInvalid, "tailLines: Invalid value: -1"},
		{"two", corev1.PodLogOptions{}, apierrors.IsBadRequest, "choose one of: [first second]"},
		{"none", corev1.PodLogOptions{}, apierrors.IsNotFound, `pods "none" not found`},
		{"lost", corev1.PodLogOptions{}, apierrors.IsNotFound, `nodes "no-such-node" not found`},
	} {
		out, err := logs(c.pod, c.options) // the client leaves the message in the body
		if text := strings.ReplaceAll(out, `\"`, `"`); !c.is(err) || !strings.Contains(text, c.text) {
			t.Errorf("%s, %+v: error %v, %s, want %q", c.pod, c.options, err, text, c.text)
		}
	}
	raw := client.CoreV1().RESTClient().Get().Namespace(ns).Resource("pods").Name("one").SubResource("log")
	if err := raw.Param("tailLines", "many").Do(t.Context()).Error(); !apierrors.IsBadRequest(err) {
		t.Errorf("tailLines=many: %v", err)
	}
}

func TestCommandsOnARealNode(t *testing.T) {
	cfg := remote(t)
	client, ns := clientset(t, cfg), namespace(t)
	k, node := startKubelet(t, client)
	podOn(t, client, ns, "one", node, "main")
	podOn(t, client, ns, "nowhere", "", "main")
	for name, executorFor := range map[string]func(*rest.Config, *url.URL) (remotecommand.Executor, error){
		"SPDY": func(c *rest.Config, u *url.URL) (remotecommand.Executor, error) {
			return remotecommand.NewSPDYExecutor(c, http.MethodPost, u)
		},
		"WebSocket": func(c *rest.Config, u *url.URL) (remotecommand.Executor, error) {
			return remotecommand.NewWebSocketExecutor(c, http.MethodGet, u.String())
		},
	} {
		run := func(pod string, o *corev1.PodExecOptions) (string, error) {
			at := client.CoreV1().RESTClient().Post().Namespace(ns).Resource("pods").Name(pod).SubResource("exec").
				VersionedParams(o, scheme.ParameterCodec).URL()
			executor, err := executorFor(cfg, at)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			var out bytes.Buffer
			err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: io.Discard})
			return out.String(), err
		}
		out, err := run("one", &corev1.PodExecOptions{Command: []string{"echo", "a b"}, Stdout: true})
		request, who := k.lastRequest()
		if err != nil || out != "echo a b" || who != "kube-apiserver-kubelet-client" ||
			request != "/exec/"+ns+"/one/main?command=echo&command=a+b&output=1" {
			t.Errorf("%s: output %q, error %v; the kubelet was asked by %s for %s", name, out, err, who, request)
		}
		if _, err := run("nowhere", &corev1.PodExecOptions{Command: []string{"echo"}, Stdout: true}); err == nil ||
			!strings.Contains(err.Error(), "does not have a host assigned") {
			t.Errorf("%s: a pod without a node: %v", name, err)
		}
	}
}
