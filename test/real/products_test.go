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
