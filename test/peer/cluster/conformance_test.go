package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allot-dev/allot/test/conformance"
)

// TestConformance makes the product's statements about Kubernetes with allot attached, in each way
// in which it can be used there: allot runs as the service accounts of its manifests, with the
// rights that these have.
func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name     string
		cluster  *lazy
		policy   bool
		spelling conformance.Spelling
	}{
		{"PodGroups of Kubernetes", shared.grouping, false, conformance.Matched},
		{"PodGroups of allot.dev", shared.plain, false, conformance.Labelled},
		{"PodGroups of allot.dev, with the policy", shared.plain, true, conformance.Replaced},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := attach(t, c.cluster.get(t), c.policy)
			conformance.Run(t, conformance.Target{
				Config: a.k.Config, Spelling: c.spelling, Scheduler: "allot", Synced: true,
				Patience: time.Minute, Restart: a.killScheduler,
			})
		})
	}
}

// attached is allot on a cluster.
type attached struct {
	k          *Kubernetes
	kubeconfig string // of the scheduler's account
	scheduler  atomic.Pointer[Process]
}

// attach installs the manifests, and starts the processes that they would start, and a fleet of
// nodes.
func attach(t *testing.T, k *Kubernetes, policy bool) *attached {
	t.Helper()
	names := []string{"allot", "template-sync"}
	if policy {
		names = append(names, "policy")
	}
	for _, name := range names {
		text, err := Manifest(name)
		if err != nil {
			t.Fatal(err)
		}
		k.kubectl(t, withoutDeployments(text), "apply", "--server-side", "-f", "-")
	}
	k.kubectl(t, "", "wait", "--for=condition=Established", "--timeout=60s", "crd",
		"podgroups.allot.dev", "workloads.allot.dev", "clusterresourceclaimtemplates.allot.dev")
	a := &attached{k: k, kubeconfig: account(t, k, "allot")}
	fleet := filepath.Join(t.TempDir(), "fleet.yaml")
	if err := os.WriteFile(fleet, []byte(conformance.Fleet), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, k, "node", k.Kubeconfig, "node", "--fleet", fleet)
	start(t, k, "template-sync", account(t, k, "allot-template-sync"), "template-sync",
		"--leader-elect-resource-namespace=allot-system")
	a.startScheduler(t)
	t.Cleanup(func() {
		if err := a.scheduler.Load().Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(a.scheduler.Load().Log())
		}
	})
	return a
}

// account answers a kubeconfig for a service account of the manifests.
func account(t *testing.T, k *Kubernetes, name string) string {
	t.Helper()
	kubeconfig, err := k.KubeconfigOf(t.Context(), "allot-system", name)
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// start starts a process for the time of the test.
func start(t *testing.T, k *Kubernetes, name, kubeconfig, command string, flags ...string) *Process {
	t.Helper()
	p, err := k.StartAllot(t.Context(), name, kubeconfig, command, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p.Tail())
		}
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (a *attached) startScheduler(t *testing.T) {
	t.Helper()
	// A lease that is not given back ends soon, so that a scheduler that was killed is not waited for.
	p, err := a.k.StartAllot(
		t.Context(),
		"attach",
		a.kubeconfig,
		"attach",
		"--scheduler-name=allot",
		"--leader-elect-resource-namespace=allot-system",
		"--leader-elect-lease-duration=3s",
		"--leader-elect-renew-deadline=2s",
		"--leader-elect-retry-period=500ms",
	)
	if err != nil {
		t.Fatal(err)
	}
	a.scheduler.Store(p)
}

func (a *attached) killScheduler(t *testing.T) {
	t.Helper()
	if err := a.scheduler.Load().Kill(); err != nil {
		t.Fatal(err)
	}
	if said := a.scheduler.Load().Log(); strings.Contains(said, "panic") {
		t.Error(said)
	}
	a.startScheduler(t)
}
