package cluster

import (
	"strings"
	"testing"
	"time"
)

// TestMissingRights: without its role, allot attach starts nothing, and says right by right what it
// lacks; it begins when it may (R47). The authorizer is the one of Kubernetes.
func TestMissingRights(t *testing.T) {
	k := shared.plain.get(t)
	text, err := Manifest("allot")
	if err != nil {
		t.Fatal(err)
	}
	k.kubectl(t, withoutDeployments(text), "apply", "--server-side", "-f", "-")
	k.kubectl(t, "", "delete", "clusterrolebinding", "allot")
	ended := make(chan error, 1)
	var p *Process
	kubeconfig := account(t, k, "allot")
	go func() {
		var err error
		p, err = k.StartAllot(t.Context(), "attach-without-rights", kubeconfig, "attach",
			"--leader-elect-resource-namespace=allot-system")
		ended <- err
	}()
	eventually(t, time.Minute, func() string {
		log := Process{logPath: k.Dir + "/attach-without-rights.log"}
		for _, want := range []string{"waiting for rights that are missing", "may not create pods/binding",
			"may not update resourceclaims/binding"} {
			if !strings.Contains(log.Log(), want) {
				return log.Log() + "\nlacks: " + want
			}
		}
		return ""
	})
	select {
	case err := <-ended:
		t.Fatalf("it is ready without rights: %v", err)
	default:
	}
	k.kubectl(t, withoutDeployments(text), "apply", "--server-side", "-f", "-")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}
