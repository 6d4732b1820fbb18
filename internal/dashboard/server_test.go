package dashboard

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/explain"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/picture"
	"github.com/allot-dev/allot/internal/snapshot"
	"github.com/allot-dev/allot/internal/snapshot/gather"
)

var taken = metav1.NewTime(time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC))

// clusterOf returns a Snapshot with one node and one pod that waits.
func clusterOf() *snapshot.Snapshot {
	snap := snapshot.New(taken, snapshot.Server{Version: "v1.37.2+allot", Allot: true})
	snap.Put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	snap.Put(&core.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "waits"},
		Spec:       core.PodSpec{SchedulerName: explain.DefaultScheduler},
	})
	return snap
}

func listen(t *testing.T, view *View, follow func()) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0", view, follow)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.listener.Close() })
	return s
}

func viewOf(t *testing.T, snap *snapshot.Snapshot) *View {
	t.Helper()
	view := NewView("")
	if err := view.Begin(snap); err != nil {
		t.Fatal(err)
	}
	return view
}

// get returns the response to a request for a path after the token.
func (s *Server) get(method, host, path string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, "http://"+s.hosts[0]+path, nil)
	request.Host = host
	response := httptest.NewRecorder()
	s.ServeHTTP(response, request)
	return response
}

func TestOnlyTheLinkIsServed(t *testing.T) {
	s := listen(t, viewOf(t, clusterOf()), func() {})
	link, host := "/"+s.token, s.hosts[0]
	for _, c := range []struct {
		name, method, host, path string
		want                     int
	}{
		{"the page", "GET", host, link + "/", 200},
		{"by name", "GET", strings.Replace(host, "127.0.0.1", "LocalHost", 1), link + "/", 200},
		{"a module", "GET", host, link + "/map.js", 200},
		{"only the head", "HEAD", host, link + "/", 200},
		{"a report", "GET", host, link + "/explain?kind=node&name=n1", 200},
		{"without a token", "GET", host, "/", 403},
		{"a file without a token", "GET", host, "/map.js", 403},
		{"the stream without a token", "GET", host, "/stream", 403},
		{"a report without a token", "GET", host, "/explain?kind=node&name=n1", 403},
		{"a part of the token", "GET", host, link[:len(link)-1] + "/", 403},
		{"more than the token", "GET", host, link + "x/", 403},
		{"another host", "GET", "example.com", link + "/", 421},
		{"a host that resolves to this one", "GET", "attacker.example:80", link + "/stream", 421},
		{"another port", "GET", "127.0.0.1:1", link + "/", 421},
		{"no host", "GET", "", link + "/", 421},
		{"a write", "POST", host, link + "/explain", 405},
		{"a deletion", "DELETE", host, link + "/", 405},
		{"what a foreign page asks first", "OPTIONS", host, link + "/explain", 405},
		{"a file that does not exist", "GET", host, link + "/page.go", 404},
		{"a path out of the folder", "GET", host, link + "/../server.go", 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			response := s.get(c.method, c.host, c.path)
			if response.Code != c.want {
				t.Errorf("status %d, want %d", response.Code, c.want)
			}
			checkHeader(t, response.Header())
			if c.want == http.StatusOK && response.Header().Get("Cache-Control") != "no-store" {
				t.Error("it may be stored")
			}
		})
	}
}

// checkHeader checks the headers that every response has.
func checkHeader(t *testing.T, header http.Header) {
	t.Helper()
	for name, want := range map[string]string{
		"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, header.Get(name), want)
		}
	}
	if header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("other origins may read the response")
	}
	policy := header.Get("Content-Security-Policy")
	for _, part := range []string{
		"default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'",
	} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy %q lacks %s", policy, part)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "*") {
		t.Errorf("the policy %q permits too much", policy)
	}
}

// Each link has its own token.
func TestTokensAreRandom(t *testing.T) {
	view := NewView("")
	a, b := listen(t, view, func() {}), listen(t, view, func() {})
	if a.token == b.token || len(a.token) < 26 {
		t.Errorf("the tokens are %s and %s", a.token, b.token)
	}
}

func TestListenRefusesOtherMachines(t *testing.T) {
	if s, err := Listen("0.0.0.0:0", NewView(""), func() {}); err == nil {
		s.listener.Close()
		t.Error("it listens on all addresses")
	}
}

// The files refer to no other host, and have no inline script or style, which the policy would
// block.
func TestFilesNeedNoOtherHost(t *testing.T) {
	err := fs.WalkDir(files, "page", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := files.ReadFile(path)
		text := strings.ReplaceAll(string(data), `xmlns="http://www.w3.org/2000/svg"`, "")
		for _, bad := range []string{"http:", "https:", "//cdn", "innerHTML", "eval(", "<style", " style=", "@import"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %s", path, bad)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestExplain(t *testing.T) {
	s := listen(t, viewOf(t, clusterOf()), func() {})
	for _, c := range []struct {
		query string
		want  int
		text  string
	}{
		{"kind=pod&namespace=default&name=waits", 200, `"summary"`},
		{"kind=pod&namespace=default&name=wait", 404, "does not exist; there is waits"},
		{"kind=secret&namespace=default&name=x", 400, "cannot be explained"},
	} {
		response := s.get("GET", s.hosts[0], "/"+s.token+"/explain?"+c.query)
		data, err := io.ReadAll(response.Body)
		if err != nil || response.Code != c.want || !strings.Contains(string(data), c.text) {
			t.Errorf("%s: status %d, %v: %s", c.query, response.Code, err, data)
		}
	}
	unread := listen(t, NewView(""), func() {})
	response := unread.get("GET", unread.hosts[0], "/"+unread.token+"/explain?kind=node&name=n1")
	if response.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d before the cluster was read", response.Code)
	}
}

// An explanation tries to place pods, and leaves the State as it was.
func TestExplainChangesNothing(t *testing.T) {
	view := viewOf(t, clusterOf())
	before := view.world.State.Dump()
	if _, err := view.Explain("pod", model.Key{Namespace: "default", Name: "waits"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, view.world.State.Dump()); diff != "" {
		t.Error(diff)
	}
}

// A page that opens before the cluster was read gets everything, then the differences. Nothing is
// read before a page opens.
func TestStream(t *testing.T) {
	view, opened := NewView(""), make(chan struct{}, 1)
	s := listen(t, view, func() { opened <- struct{}{} })
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	select {
	case <-opened:
		t.Fatal("followed before a page was opened")
	default:
	}
	response, err := http.Get(s.URL() + "stream")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	checkHeader(t, response.Header)
	<-opened
	events := eventReader{t, bufio.NewReader(response.Body)}
	events.want("status", "the cluster is being read")
	if err := view.Begin(clusterOf()); err != nil {
		t.Fatal(err)
	}
	var d picture.Difference
	events.read("picture", &d)
	if len(d.Nodes.Put) != 1 || len(d.Units.Put) != 1 {
		t.Errorf("got %d nodes and %d units", len(d.Nodes.Put), len(d.Units.Put))
	}
	events.want("status", "")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2"}}
	batch := gather.Batch{Taken: taken, Changes: []watch.Event{{Type: watch.Added, Object: node}}}
	if err := view.Change(batch); err != nil {
		t.Fatal(err)
	}
	d = picture.Difference{}
	events.read("change", &d)
	if len(d.Nodes.Put) != 1 || d.Nodes.Put[0].Name != "n2" || d.Units != nil {
		t.Errorf("got the nodes %v and the units %v", d.Nodes, d.Units)
	}
	view.Fail(io.ErrUnexpectedEOF)
	events.want("status", "unexpected EOF")
	view.Recover()
	events.want("status", "")
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// Kinds that may not be read are shown, also when that was detected later.
func TestUnknownIsShown(t *testing.T) {
	snap := clusterOf()
	snap.Unknown = []snapshot.Unknown{{Resource: "resourceclaims", Reason: "you may not list them", Missing: "devices look free"}}
	view := viewOf(t, snap)
	lost := snapshot.Unknown{Resource: "nodes", Reason: "you may not watch them", Missing: "changes of them are not seen"}
	if err := view.Change(gather.Batch{Taken: taken, Unknown: []snapshot.Unknown{lost}}); err != nil {
		t.Fatal(err)
	}
	scene, _ := view.Now()
	if got := scene.Picture.Unknown; len(got) != 2 || got[0] != snap.Unknown[0].String() || got[1] != lost.String() {
		t.Errorf("it shows %q", got)
	}
}

// eventReader reads server-sent events.
type eventReader struct {
	*testing.T
	from *bufio.Reader
}

func (e *eventReader) line() string {
	e.Helper()
	line, err := e.from.ReadString('\n')
	if err != nil {
		e.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (e *eventReader) read(name string, value any) {
	e.Helper()
	event, data, end := e.line(), e.line(), e.line()
	if event != "event: "+name || end != "" {
		e.Fatalf("got %q, want the event %s", event, name)
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(data, "data: ")), value); err != nil {
		e.Fatal(err)
	}
}

func (e *eventReader) want(name, problem string) {
	e.Helper()
	var status struct{ Problem string }
	if e.read(name, &status); status.Problem != problem {
		e.Errorf("the problem is %q, want %q", status.Problem, problem)
	}
}
