package controllers

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/allot-dev/allot/test/peer/cluster"
)

// width is how many scenarios run at a time, on whatever number of cores: they wait more than they
// work.
const width = "24"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", width); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestControllers runs all scenarios on both control planes.
func TestControllers(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("scenarios: %v, %v", files, err)
	}
	began := time.Now()
	upstream, allot := sides(t)
	t.Logf("both control planes were ready after %s", time.Since(began).Round(time.Millisecond))
	table := newTable(intended)
	began = time.Now()
	t.Run("scenario", func(t *testing.T) {
		for _, file := range files {
			scenario, err := ReadScenario(file)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(scenario.Name, func(t *testing.T) {
				t.Parallel()
				play(t, scenario, upstream, allot, table)
			})
		}
	})
	t.Logf("%d scenarios took %s", len(files), time.Since(began).Round(time.Millisecond))
	if f := flag.Lookup("test.run"); f != nil && f.Value.String() != "" {
		return // some scenarios alone need not use the whole table
	}
	for _, i := range table.unused() {
		t.Errorf("intended difference %d explains nothing any longer: %s", i, intended[i].why)
	}
}

// play runs a scenario on both sides in lockstep.
func play(t *testing.T, scenario *Scenario, upstream, allot *Side, table *table) {
	u, a := newStage(t, scenario, upstream), newStage(t, scenario, allot)
	for _, st := range scenario.steps {
		if st.verb == "compare" {
			left, err := compare(t.Context(), u, a, st.line, table)
			if err != nil {
				t.Fatal(err)
			}
			if len(left) > 0 {
				t.Errorf("%d differences:\n%s", len(left), report(left))
			}
			continue
		}
		done := make(chan error, 1)
		go func() { done <- u.do(t.Context(), st) }()
		err := a.do(t.Context(), st)
		if err := errors.Join(err, <-done); err != nil {
			t.Fatal(err)
		}
	}
}

func newStage(t *testing.T, scenario *Scenario, side *Side) *stage {
	t.Helper()
	s := &stage{Side: side, scenario: scenario, namespace: scenario.Name}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	if _, err := s.Clients.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.waitAccount(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Kubelet.SetMode(s.namespace, Off); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		for _, node := range s.nodes {
			_ = s.Clients.CoreV1().Nodes().Delete(ctx, node, metav1.DeleteOptions{})
		}
	})
	return s
}

// waitAccount waits for the account without which no pod is admitted.
func (s *stage) waitAccount(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		_, err := s.Clients.CoreV1().ServiceAccounts(s.namespace).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			return nil
		}
		if ended := pause(ctx); ended != nil {
			return errors.Join(err, ended)
		}
	}
}

// sides starts both control planes.
func sides(t *testing.T) (upstream, allot *Side) {
	t.Helper()
	dir := t.TempDir()
	k, err := cluster.StartKubernetes(t.Context(), cluster.Options{Dir: filepath.Join(dir, "kubernetes")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(k.Tail())
		}
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
	})
	data, err := cluster.StartOwn(t.Context(), filepath.Join(dir, "allot"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(data.Tail())
		}
		if err := data.Stop(); err != nil {
			t.Error(err)
		}
	})
	cfg, err := clientcmd.BuildConfigFromFlags("", data.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if upstream, err = NewSide(t.Context(), "upstream", k.Config, k.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	if allot, err = NewSide(t.Context(), "allot", cfg, data.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Side{upstream, allot} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: MachineName}}
		if err := s.Kubelet.SetNode(t.Context(), node, true); err != nil {
			t.Fatal(err)
		}
	}
	return upstream, allot
}
