package cluster

import (
	"strings"
	"testing"
	"time"
)

const podWithClaim = `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: smoke.example.com}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-device}
spec: {spec: {devices: {requests: [{name: any, exactly: {deviceClassName: smoke.example.com}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: worker}
spec:
  containers: [{name: main, image: none.invalid/none, resources: {claims: [{name: device}]}}]
  resourceClaims: [{name: device, resourceClaimTemplateName: one-device}]
`

// TestKubernetes shows that the peer is what it says: without it, nothing else here means anything.
func TestKubernetes(t *testing.T) {
	for _, l := range []*lazy{shared.plain, shared.grouping} {
		t.Run(l.name, func(t *testing.T) {
			k := l.get(t)
			if version := k.kubectl(t, "", "version"); !strings.Contains(version, "Server Version: "+kubernetesVersion) {
				t.Errorf("kubectl version:\n%s", version)
			}
			if served := strings.Contains(k.kubectl(t, "", "api-resources", "--api-group=scheduling.k8s.io", "-o", "name"),
				"podgroups"); served != l.groups {
				t.Errorf("podgroups are served: %v", served)
			}
			ns := namespace(t, k)
			k.kubectl(t, podWithClaim, "apply", "-n", ns, "-f", "-")
			eventually(t, 30*time.Second, func() string {
				claims := k.kubectl(t, "", "get", "resourceclaims", "-n", ns, "-o",
					"jsonpath={range .items[*]}{.metadata.ownerReferences[*].name};{end}")
				if claims == "worker;" {
					return ""
				}
				return "claims of " + claims + ", want one of the pod worker"
			})
		})
	}
}
