package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestVolumeLimits: no more volumes of a CSI driver come to a node than the CSINode of Kubernetes
// says, whose changes are followed (R38).
func TestVolumeLimits(t *testing.T) {
	k := shared.plain.get(t)
	const host = "host-0"
	limit := func(count int) {
		t.Helper()
		k.kubectl(t, fmt.Sprintf(csiNode, host, host, count), "apply", "-f", "-")
	}
	limit(0) // before the scheduler begins, which thereby knows it
	t.Cleanup(func() { _, _ = k.Kubectl(context.WithoutCancel(t.Context()), "", "delete", "csinode", host) })
	attach(t, k, false)
	ns := namespace(t, k)
	for _, name := range []string{"one", "two"} {
		k.kubectl(t, strings.NewReplacer("POD", name, "IN-NS", ns, "HOST", host).Replace(mounting), "apply", "-f", "-")
	}
	node := func(pod, want string) {
		t.Helper()
		eventually(t, 2*time.Minute, func() string {
			got := k.kubectl(t, "", "get", "pod", pod, "-n", ns, "-o",
				`jsonpath={.spec.nodeName} {.status.conditions[?(@.type=="PodScheduled")].message}`)
			if !strings.Contains(got, want) {
				return fmt.Sprintf("pod %s: %q, not %q", pod, got, want)
			}
			return ""
		})
	}
	const full = "to which no more volumes of disk.example.com can be attached"
	node("one", full)
	node("two", full)
	limit(1)
	bound := ""
	eventually(t, 2*time.Minute, func() string {
		bound = strings.TrimSpace(
			k.kubectl(t, "", "get", "pod", "-n", ns, "-o",
				`jsonpath={range .items[?(@.spec.nodeName=="`+host+`")]}{.metadata.name} {end}`),
		)
		if bound != "one" && bound != "two" {
			return fmt.Sprintf("on the node is %q", bound)
		}
		return ""
	})
	other := map[string]string{"one": "two", "two": "one"}[bound]
	node(other, full)
	k.kubectl(t, "", "delete", "pod", bound, "-n", ns)
	node(other, host)
}

const csiNode = `
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: %s}
spec:
  drivers:
  - {name: disk.example.com, nodeID: %s, topologyKeys: [], allocatable: {count: %d}}
`

const mounting = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: IN-NS-POD}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Gi}
  storageClassName: ""
  persistentVolumeReclaimPolicy: Retain
  csi: {driver: disk.example.com, volumeHandle: IN-NS-POD}
  claimRef: {namespace: IN-NS, name: POD}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: POD, namespace: IN-NS}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: ""
  volumeName: IN-NS-POD
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: POD, namespace: IN-NS}
spec:
  schedulerName: allot
  nodeSelector: {kubernetes.io/hostname: HOST}
  containers: [{name: c, image: pause}]
  volumes:
  - {name: data, persistentVolumeClaim: {claimName: POD}}
`
