package forecast

import (
	"fmt"
	"math/rand/v2"

	"github.com/allot-dev/allot/internal/fleet"
)

// world is a random cluster, and what is applied to it.
type world struct {
	fleet   fleet.Fleet
	given   []string // manifests that are there before
	applied []string
}

// The names of applied objects begin with a letter for their kind, so that the order of their names
// is that in which they are applied and in which their pods are created: units of one age are tried
// in the order of their names.
func newWorld(seed uint64) world {
	r := rand.New(rand.NewPCG(seed, 48))
	w := world{fleet: fleet.Simple(1+r.IntN(3), 1+r.IntN(3)), given: []string{
		"{apiVersion: v1, kind: Namespace, metadata: {name: default}}",
		`{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: dev}, spec: {selectors: [{cel: {expression: 'device.driver == "sim.allot.dev"'}}]}}`,
		claimTemplate("one", 1), claimTemplate("two", 2),
		"{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 10}",
	}}
	if r.IntN(2) == 0 {
		// Pods of a low priority run before.
		for n := range 1 + r.IntN(3) {
			w.given = append(w.given, newPod(fmt.Sprintf("r%d-pod", n), "", "", claimsOf(r)))
		}
		w.given = append(w.given, newJob(r, "s-job"), replicas(r, "Deployment", "t-deployment", ""))
	}
	for n := range 1 + r.IntN(4) {
		w.applied = append(w.applied, newPod(fmt.Sprintf("a%d-pod", n), anyPriority(r), "", claimsOf(r)))
	}
	for n := range r.IntN(3) {
		w.applied = append(w.applied, group(r, fmt.Sprintf("b%d-group", n))...)
	}
	for n := range r.IntN(2) {
		w.applied = append(w.applied, replicas(r, "StatefulSet", fmt.Sprintf("c%d-set", n), "serviceName: s"))
	}
	for n := range r.IntN(3) {
		w.applied = append(w.applied, newJob(r, fmt.Sprintf("d%d-job", n)))
	}
	for n := range r.IntN(3) {
		w.applied = append(w.applied, replicas(r, "Deployment", fmt.Sprintf("e%d-deployment", n), ""))
	}
	return w
}

func claimTemplate(name string, count int) string {
	return fmt.Sprintf(
		"{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: %s}, spec: {spec: {devices: {requests: "+
			"[{name: r, exactly: {deviceClassName: dev, count: %d}}]}}}}",
		name,
		count,
	)
}

func anyPriority(r *rand.Rand) string {
	if r.IntN(4) == 0 {
		return "priorityClassName: high,"
	}
	return ""
}

// claimsOf returns the claims of a pod: of none, one or two devices, or none.
func claimsOf(r *rand.Rand) string {
	switch r.IntN(5) {
	case 0:
		return ""
	case 1:
		return "resourceClaims: [{name: d, resourceClaimTemplateName: two}],"
	}
	return "resourceClaims: [{name: d, resourceClaimTemplateName: one}],"
}

func podSpec(priority, more, claims string) string {
	return fmt.Sprintf("{%s %s %s containers: [{name: c, image: pause, resources: {requests: {cpu: 100m}}}]}", priority,
		more, claims)
}

func newPod(name, priority, more, claims string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: %s}", name,
		podSpec(priority, more, claims))
}

// group returns a gang whose pods may share a claim.
func group(r *rand.Rand, name string) []string {
	members, priority := 1+r.IntN(3), anyPriority(r)
	shared, claims := "", claimsOf(r)
	if r.IntN(2) == 0 {
		shared, claims = "resourceClaims: [{name: s, resourceClaimTemplateName: one}]", "resourceClaims: [{name: d, podGroupResourceClaim: s}],"
	}
	list := []string{
		fmt.Sprintf(
			"{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: %s}, spec: {%s schedulingPolicy: {gang: {minCount: %d}}, %s}}",
			name,
			priority,
			1+r.IntN(members),
			shared,
		),
	}
	for n := range members {
		list = append(list,
			newPod(fmt.Sprintf("%s-%d", name, n), priority, fmt.Sprintf("schedulingGroup: {podGroupName: %s},", name), claims))
	}
	return list
}

func replicas(r *rand.Rand, kind, name, more string) string {
	return fmt.Sprintf(
		"{apiVersion: apps/v1, kind: %s, metadata: {name: %s}, spec: {replicas: %d, selector: {matchLabels: {app: %s}}, template: {metadata: {labels: {app: %s}}, spec: %s}, %s}}",
		kind,
		name,
		1+r.IntN(3),
		name,
		name,
		podSpec(anyPriority(r), "", claimsOf(r)),
		more,
	)
}

func newJob(r *rand.Rand, name string) string {
	n, scheduling := 1+r.IntN(3), ""
	if r.IntN(2) == 0 {
		scheduling = "scheduling: {schedulingPolicy: {gang: {}}},"
	}
	return fmt.Sprintf(
		"{apiVersion: batch/v1, kind: Job, metadata: {name: %s}, spec: {parallelism: %d, completions: %d, completionMode: Indexed, %s template: {spec: %s}}}",
		name,
		n,
		n,
		scheduling,
		podSpec(anyPriority(r), "restartPolicy: Never,", claimsOf(r)),
	)
}
