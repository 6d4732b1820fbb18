package app

import (
	"context"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/allot-dev/allot/internal/cli"
	"github.com/allot-dev/allot/internal/fleet"
)

// patience limits how long a test waits for an expected change.
const patience = time.Minute

// line is a proxy to a cluster that can disturb the connection.
type line struct {
	proxy *httputil.ReverseProxy

	mu      sync.Mutex
	refuse  map[string]int // response codes by prefix of "METHOD path"
	asked   map[string]int // number of rejected requests
	watches map[*http.Request]context.CancelFunc
}

func newLine(t *testing.T, cfg *rest.Config) (*line, string) {
	t.Helper()
	transport, err := rest.TransportFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(cfg.Host)
	if err != nil {
		t.Fatal(err)
	}
	l := &line{refuse: map[string]int{}, asked: map[string]int{}, watches: map[*http.Request]context.CancelFunc{}}
	l.proxy = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(
		`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": %q}}],
		"contexts": [{"name": "c", "context": {"cluster": "c"}}]}`,
		server.URL,
	)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return l, kubeconfig
}

func (l *line) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what := r.Method + " " + r.URL.Path
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	l.mu.Lock()
	for prefix, code := range l.refuse {
		if strings.HasPrefix(what, prefix) {
			l.asked[prefix]++
			l.mu.Unlock()
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprintf(w,
				`{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": %d, "reason": %q, "message": "disturbed"}`,
				code, reasonOf(code))
			return
		}
	}
	if r.URL.Query().Get("watch") != "" {
		l.watches[r] = cancel
		defer func() {
			l.mu.Lock()
			delete(l.watches, r)
			l.mu.Unlock()
		}()
	}
	l.mu.Unlock()
	defer func() { _ = recover() }() // the proxy panics when a response is cut off
	l.proxy.ServeHTTP(w, r.WithContext(ctx))
}

func reasonOf(code int) metav1.StatusReason {
	if code == http.StatusForbidden {
		return metav1.StatusReasonForbidden
	}
	return metav1.StatusReasonServiceUnavailable
}

// answer makes requests with a prefix get a response with a code, or lets them pass again if the
// code is 0. It returns how many requests got the previous code.
func (l *line) answer(prefix string, code int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.refuse, prefix)
	if code != 0 {
		l.refuse[prefix] = code
		l.asked[prefix] = 0
	}
	return l.asked[prefix]
}

// refused returns how many requests with a prefix have got a code since answer was called.
func (l *line) refused(prefix string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked[prefix]
}

// cut ends some of the watches.
func (l *line) cut(random *rand.Rand) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, cancel := range l.watches {
		if random.Intn(3) == 0 {
			cancel()
		}
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("not within %s: %s", patience, what)
}

// attached is allot attach on a cluster: allot's own control plane, whose scheduler handles pods
// that do not name allot's.
type attached struct {
	t       *testing.T
	line    *line
	clients kubernetes.Interface
	diff    diffOptions
	health  string
}

// started starts a cluster, and allot attach over a connection that is disturbed at first.
func started(t *testing.T, refused ...string) *attached {
	t.Helper()
	return startedOn(t, t.TempDir(), refused...)
}

// startedOn starts a cluster on the objects in a data directory.
func startedOn(t *testing.T, dir string, refused ...string) *attached {
	t.Helper()
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	cluster, err := Start(t.Context(), Options{DataDir: dir, UnsafeNoFsync: true, Fleet: fleet.Simple(2, 4)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	l, kubeconfig := newLine(t, cluster.Server.Loopback())
	for _, prefix := range refused {
		l.answer(prefix, http.StatusServiceUnavailable)
	}
	clients, err := kubernetes.NewForConfig(cluster.Server.Loopback())
	if err != nil {
		t.Fatal(err)
	}
	o := attachOptions{schedulerName: "allot", rivals: rivalsWarn, lookAgain: time.Second}
	o.kubeconfig, o.healthListen = kubeconfig, "127.0.0.1:0"
	a := &attached{t: t, line: l, clients: clients, diff: diffOptions{schedulerName: "allot"}}
	a.diff.kubeconfig = kubeconfig
	a.run(o)
	return a
}

// run runs allot attach, and waits until its health port is known.
func (a *attached) run(o attachOptions) {
	ctx, cancel := context.WithCancel(context.Background())
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- runAttach(ctx, o, cli.NewProgress(writer, cli.Style{}, nil))
		_ = writer.Close()
	}()
	a.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			a.t.Error(err)
		}
	})
	address := make(chan string, 1)
	go func() {
		buffer, text := make([]byte, 4096), ""
		for {
			n, err := reader.Read(buffer)
			text += string(buffer[:n])
			if _, rest, ok := strings.Cut(text, "health and metrics on "); ok && strings.Contains(rest, "\n") {
				found, _, _ := strings.Cut(rest, "\n")
				select {
				case address <- strings.TrimSpace(found):
				default:
				}
			}
			if err != nil {
				return
			}
		}
	}()
	a.health = <-address
	a.diff.state = a.health
}

func (a *attached) get(path string) string {
	response, err := http.Get(a.health + path) //nolint:noctx // a test's own server
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (a *attached) pod(name, scheduler, group, claim string) {
	a.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: corev1.PodSpec{
		SchedulerName: scheduler, Containers: []corev1.Container{{Name: "c", Image: "pause"}},
	}}
	if group != "" {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	}
	if claim != "" {
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "g", ResourceClaimTemplateName: &claim}}
	}
	if _, err := a.clients.CoreV1().Pods("default").Create(a.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		a.t.Fatal(err)
	}
}

func (a *attached) phase(name string) corev1.PodPhase {
	pod, err := a.clients.CoreV1().Pods("default").Get(a.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return corev1.PodPhase(err.Error())
	}
	return pod.Status.Phase
}

func (a *attached) template(name string) {
	a.t.Helper()
	class := &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu.example.com"},
		Spec: resourcev1.DeviceClassSpec{
			Selectors: []resourcev1.DeviceSelector{
				{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "sim.allot.dev"`}},
			},
		},
	}
	if _, err := a.clients.ResourceV1().DeviceClasses().Create(a.t.Context(), class, metav1.CreateOptions{}); err != nil {
		a.t.Fatal(err)
	}
	template := &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.ResourceClaimTemplateSpec{
			Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
				{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class.Name}},
			}}},
		},
	}
	if _, err := a.clients.ResourceV1().ResourceClaimTemplates("default").Create(a.t.Context(), template,
		metav1.CreateOptions{}); err != nil {
		a.t.Fatal(err)
	}
}

func (a *attached) group(name string, minCount int32, template string) {
	a.t.Helper()
	group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: schedulingv1beta1.PodGroupSpec{
		SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{
			Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: minCount},
		},
		ResourceClaims: []schedulingv1beta1.PodGroupResourceClaim{{Name: "g", ResourceClaimTemplateName: &template}},
	}}
	if _, err := a.clients.SchedulingV1beta1().PodGroups("default").Create(a.t.Context(), group,
		metav1.CreateOptions{}); err != nil {
		a.t.Fatal(err)
	}
}

// TestAttachToANativeCluster uses one cluster for all steps, because a start takes seconds.
func TestAttachToANativeCluster(t *testing.T) {
	const discovery, rights = "GET /apis/resource.k8s.io/v1", "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	a := started(t, discovery, rights)
	t.Run("F69: discovery that fails", func(t *testing.T) {
		eventually(t, "it says what it waits for", func() bool {
			return strings.Contains(a.get("/readyz/started"), "ask for the kinds of resource.k8s.io/v1")
		})
		a.line.answer(discovery, 0)
		eventually(t, "it asks for its rights", func() bool {
			return strings.Contains(a.get("/readyz/started"), "ask whether this process may")
		})
		if text := a.get(statePath); !strings.Contains(text, "no scheduler works") {
			t.Errorf("it works already: %s", text)
		}
		a.line.answer(rights, 0)
		eventually(t, "it is ready", func() bool { return a.get("/readyz") == "ok" })
	})
	a.template("one")
	t.Run("a gang that shares a claim", func(t *testing.T) {
		a.group("g", 2, "one")
		a.pod("g-0", "allot", "g", "one")
		a.pod("other", "default-scheduler", "", "")
		eventually(t, "the cluster's scheduler places its pod", func() bool { return a.phase("other") == corev1.PodRunning })
		if phase := a.phase("g-0"); phase != corev1.PodPending {
			t.Errorf("a gang below its quorum is %s", phase)
		}
		a.pod("g-1", "allot", "g", "one")
		eventually(t, "the gang runs",
			func() bool { return a.phase("g-0") == corev1.PodRunning && a.phase("g-1") == corev1.PodRunning })
		claims, err := a.clients.ResourceV1().ResourceClaims("default").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(claims.Items) != 1 || len(claims.Items[0].Status.ReservedFor) != 1 ||
			claims.Items[0].Status.ReservedFor[0].Resource != "podgroups" {
			t.Errorf("claims %+v, %v", claims.Items, err)
		}
		eventually(t, "the metrics count both",
			func() bool { return strings.Contains(a.get("/metrics"), "allot_pods_bound_total 2") })
	})
	t.Run("F69: a write that is refused", a.refusedWrite)
	t.Run("F67: watches that break", a.brokenWatches)
}

// refusedWrite checks that a write that gets 403 is not retried in a hot loop: it is retried with
// increasing delays, and succeeds once it is permitted.
func (a *attached) refusedWrite(t *testing.T) {
	const prefix = "PUT /apis/resource.k8s.io/v1/namespaces/default/resourceclaims/"
	a.line.answer(prefix, http.StatusForbidden)
	a.pod("refused", "allot", "", "one")
	eventually(t, "it is tried", func() bool { return a.line.refused(prefix) > 0 })
	time.Sleep(4 * time.Second)
	if n := a.line.answer(prefix, 0); n > 8 {
		t.Errorf("tried %d times within four seconds", n)
	}
	eventually(t, "it is placed when it may be", func() bool { return a.phase("refused") == corev1.PodRunning })
}

// brokenWatches creates and deletes pods while watches break, and checks that the scheduler's view
// is then that of a scheduler that has just started.
func (a *attached) brokenWatches(t *testing.T) {
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewSource(seed))
	for i := range 12 {
		a.pod(fmt.Sprint("churn-", i), "allot", "", "one")
		a.line.cut(random)
		if i >= 3 {
			if err := a.clients.CoreV1().Pods("default").Delete(t.Context(), fmt.Sprint("churn-", i-3),
				*metav1.NewDeleteOptions(0)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Duration(random.Intn(150)) * time.Millisecond)
		a.line.cut(random)
	}
	var out strings.Builder
	defer func() {
		if t.Failed() {
			t.Log(out.String())
		}
	}()
	eventually(t, "the views are the same", func() bool {
		out.Reset()
		differ, err := a.diff.diff(t.Context(), &out)
		return err == nil && !differ
	})
	if !strings.Contains(out.String(), "the views are the same") {
		t.Error(out.String())
	}
	if text := a.get(statePath); !strings.Contains(text, "pod default/churn-11") {
		t.Errorf("the view lacks a pod:\n%s", text)
	}
}

func TestStateIsForThisMachineOnly(t *testing.T) {
	handler := onLoopback(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }),
	)
	for _, test := range []struct {
		from, host string
		want       int
	}{
		{"127.0.0.1:1", "127.0.0.1:8080", http.StatusTeapot},
		{"[::1]:1", "localhost:8080", http.StatusTeapot},
		{"10.0.0.1:1", "127.0.0.1:8080", http.StatusForbidden},
		{"127.0.0.1:1", "evil.example.com", http.StatusForbidden},
	} {
		r := httptest.NewRequest(http.MethodGet, statePath, nil)
		r.RemoteAddr, r.Host = test.from, test.host
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != test.want {
			t.Errorf("from %s to %s: %d", test.from, test.host, w.Code)
		}
	}
}
