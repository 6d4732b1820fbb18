package cluster

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/rand"
)

// shared are the control planes that all tests use; each is started by the first test that needs
// it.
var shared = struct {
	dir             string
	plain, grouping *lazy
}{plain: &lazy{name: "plain"}, grouping: &lazy{name: "grouping", groups: true}}

// lazy is a control plane that is started when it is asked for.
type lazy struct {
	name   string
	groups bool

	once    sync.Once
	cluster *Kubernetes
	err     error
}

// get starts the control plane if need be.
func (l *lazy) get(t *testing.T) *Kubernetes {
	t.Helper()
	l.once.Do(func() {
		began := time.Now()
		l.cluster, l.err = StartKubernetes(context.Background(), Options{Dir: shared.dir + "/" + l.name, Groups: l.groups})
		if l.err == nil {
			t.Logf("Kubernetes (%s) was ready after %s", l.name, time.Since(began).Round(time.Millisecond))
		}
	})
	if l.err != nil {
		t.Fatal(l.err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(l.cluster.Tail())
		}
	})
	return l.cluster
}

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	var err error
	if shared.dir, err = os.MkdirTemp("", "allot-peer-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(shared.dir)
	code = m.Run()
	for _, l := range []*lazy{shared.plain, shared.grouping} {
		if l.cluster == nil {
			continue
		}
		fmt.Printf("Kubernetes (%s): %s\n", l.name, l.cluster.Memory())
		if err := l.cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// namespace makes a namespace for one test.
func namespace(t *testing.T, k *Kubernetes) string {
	t.Helper()
	name := "test-" + rand.String(5)
	k.kubectl(t, "", "create", "namespace", name)
	return name
}

// kubectl runs kubectl, which must not fail.
func (k *Kubernetes) kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, err := k.Kubectl(t.Context(), stdin, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// eventually waits until check answers "", which is else what is wrong.
func eventually(t *testing.T, limit time.Duration, check func() string) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		wrong := check()
		if wrong == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s: %s", limit, wrong)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
