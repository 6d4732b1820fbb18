package real

import "testing"

func TestJobSet(t *testing.T) {
	scenarios(t, product{
		name:    "jobset",
		module:  "sigs.k8s.io/jobset",
		program: "sigs.k8s.io/jobset",
		// The folder is fixed in the program.
		certificates: "/tmp/k8s-webhook-server/serving-certs",
	})
}

func TestLeaderWorkerSet(t *testing.T) {
	scenarios(t, product{
		name:         "lws",
		module:       "sigs.k8s.io/lws",
		program:      "sigs.k8s.io/lws/cmd",
		certificates: "certificates",
	})
}

// TestKueue uses the configuration of Kueue's own tests with DRA. The API for pending workloads is
// an aggregated one, which allot does not serve.
func TestKueue(t *testing.T) {
	scenarios(t, product{
		name:         "kueue",
		module:       "sigs.k8s.io/kueue",
		program:      "sigs.k8s.io/kueue/cmd/kueue",
		certificates: "certificates",
		config:       "test/e2e/config/dra/controller_manager_config.yaml",
		gates:        object{"VisibilityOnDemand": false},
	})
}
