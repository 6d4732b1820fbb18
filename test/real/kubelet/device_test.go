package kubelet

import (
	"strings"
	"testing"
	"time"
)

func (s *site) drivers(t *testing.T) {
	for _, n := range s.nodes {
		eventually(t, commandTime, n.name+" gpu.example.com", func() string {
			out, _ := s.try("get", "resourceslices", "-o",
				`jsonpath={range .items[*]}{.spec.nodeName} {.spec.driver}{"\n"}{end}`)
			return out
		})
	}
}

// devicePod is a pod with a device of the example driver.
const devicePod = `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: device, labels: {app: device}}
spec:
  nodeSelector: {kubernetes.io/hostname: real-1}
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - name: with
    image: allot.test/app:1
    imagePullPolicy: Never
    resources: {claims: [{name: gpu}]}
  - {name: without, image: "allot.test/app:1", imagePullPolicy: Never}
  resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
`

// device: the scheduler allocates a device of a real node, and the kubelet has the driver prepare it
// before the containers start. Only the container with the claim has the device.
func (s *site) device(t *testing.T) {
	s.apply(t, devicePod)
	s.running(t, "app=device", 1)
	claim := s.get("pod/device", "{.status.resourceClaimStatuses[0].resourceClaimName}")
	driver := s.nodes[1].driver
	if got := calls(driver, "prepare", claim); got != 1 {
		t.Errorf("claim %s was prepared %d times:\n%s", claim, got, driver.log.tail(20))
	}
	if env := s.kubectl(t, "exec", "device", "-c", "with", "--", "/app", "env", "GPU"); env != "GPU_DEVICE_0=gpu-0" {
		t.Errorf("the container with the claim has %q", env)
	}
	if env := s.kubectl(t, "exec", "device", "-c", "without", "--", "/app", "env", "GPU"); env != "" {
		t.Errorf("the container without the claim has %q", env)
	}
	s.kubectl(t, "delete", "pod", "device", "--timeout=60s")
	if got := calls(driver, "unprepare", claim); got != 1 {
		t.Errorf("claim %s was unprepared %d times:\n%s", claim, got, driver.log.tail(20))
	}
	s.noClaims(t)
}

// noClaims waits until there are no claims.
func (s *site) noClaims(t *testing.T) {
	t.Helper()
	eventually(t, time.Minute, "No resources found", func() string {
		out, _ := s.try("get", "resourceclaims")
		return out
	})
}

// calls returns how often a driver was called for a claim of the default namespace.
func calls(driver *process, method, claim string) int {
	count := 0
	for _, line := range strings.Split(driver.log.String(), "\n") {
		if line == method+" default/"+claim {
			count++
		}
	}
	return count
}

// spread is a Deployment with a pod on each node.
const spread = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: spread}
spec:
  replicas: 3
  selector: {matchLabels: {app: spread}}
  template:
    metadata: {labels: {app: spread}}
    spec:
      terminationGracePeriodSeconds: 1
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: spread}}
      containers:
      - {name: main, image: "allot.test/app:1", imagePullPolicy: Never}
`

// beside: real and simulated nodes are in one cluster.
func (s *site) beside(t *testing.T) {
	s.apply(t, spread)
	s.running(t, "app=spread", 3)
	nodes := s.kubectl(t, "get", "pods", "-l", "app=spread", "-o", "jsonpath={.items[*].spec.nodeName}")
	for _, want := range []string{simulated, s.nodes[0].name, s.nodes[1].name} {
		if !strings.Contains(nodes, want) {
			t.Errorf("no pod is on %s: %s", want, nodes)
		}
	}
	s.kubectl(t, "delete", "deployment", "spread", "--cascade=foreground", "--timeout=60s")
}
