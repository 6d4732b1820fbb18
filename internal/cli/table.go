package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
)

// maxPods is the largest number of pods that a table lists.
const maxPods = 30

// WriteTables writes the state of the applied objects: a table of the groups with their devices,
// one of the pods, and one of the other objects.
func (s Snapshot) WriteTables(w io.Writer) error {
	v := look(s)
	for _, table := range [][][]string{v.groupRows(), v.podRows(), v.otherRows()} {
		if len(table) < 2 {
			continue
		}
		t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
		for _, row := range table {
			fmt.Fprintln(t, strings.TrimRight(strings.Join(row, "\t"), "\t"))
		}
		if err := t.Flush(); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	return nil
}

// groupRows returns a row for each device of each claim of a group.
func (v *view) groupRows() [][]string {
	rows := [][]string{{"PODGROUP", "STATUS", "PODS", "CLAIM", "DEVICE", "NODE", "RESERVED FOR"}}
	for _, it := range v.items() {
		group, ok := v.groups[it.ref.key()]
		if !ok || it.ref.Kind != "PodGroup" {
			continue
		}
		members := v.members[keyOf(group)]
		lead := []string{label(group), groupStatus(group), podCount(members)}
		node := nodesOf(members)
		for _, name := range claimNames(group) {
			claim, ok := v.claims[types.NamespacedName{Namespace: group.Namespace, Name: name}]
			if !ok {
				rows = append(rows, append(lead, name, "-", node, "-"))
				lead = []string{"", "", ""}
				continue
			}
			reserved := consumers(claim)
			for _, device := range devices(claim) {
				rows = append(rows, append(lead, name, device, node, reserved))
				lead, name, node, reserved = []string{"", "", ""}, "", "", ""
			}
			node = nodesOf(members)
		}
		if lead[0] != "" {
			rows = append(rows, append(lead, "-", "-", node, "-"))
		}
	}
	return rows
}

func (v *view) podRows() [][]string {
	rows := [][]string{{"POD", "PODGROUP", "NODE", "PHASE", "CLAIMS"}}
	pods := v.appliedPods()
	for i, pod := range pods {
		if i == maxPods {
			rows = append(rows, []string{fmt.Sprintf("and %d more: %s", len(pods)-i, podsRunning(pods[i:]))})
			break
		}
		group, _ := claims.GroupName(pod)
		phase, _, _ := strings.Cut(podText(pod), " on ")
		uses := strings.Join(claims.Uses(pod), ", ")
		rows = append(rows,
			[]string{label(pod), dashIfEmpty(group), dashIfEmpty(pod.Spec.NodeName), phase, dashIfEmpty(uses)})
	}
	return rows
}

// appliedPods returns the pods of the applied objects, each once.
func (v *view) appliedPods() []*core.Pod {
	var out []*core.Pod
	seen := map[*core.Pod]bool{}
	for _, ref := range v.Applied {
		var pods []*core.Pod
		switch ref.Kind {
		case "Pod":
			if pod, ok := v.pods[ref.key()]; ok && ref.Group == "" {
				pods = []*core.Pod{pod}
			}
		case "PodGroup":
			pods = v.members[ref.key()]
		case "Deployment":
			if d, ok := v.deployments[ref.key()]; ok {
				pods = v.podsOf(d)
			}
		case "ReplicaSet":
			pods = ownedBy(v, v.replicaSets, ref)
		case "StatefulSet":
			pods = ownedBy(v, v.statefulSets, ref)
		case "DaemonSet":
			pods = ownedBy(v, v.daemonSets, ref)
		case "Job":
			pods = ownedBy(v, v.jobs, ref)
		}
		for _, pod := range pods {
			if !seen[pod] {
				seen[pod] = true
				out = append(out, pod)
			}
		}
	}
	return out
}

func (v *view) otherRows() [][]string {
	rows := [][]string{{"OBJECT", "STATE"}}
	for _, it := range v.items() {
		if it.ref.Kind != "PodGroup" && (it.ref.Kind != "Pod" || it.ref.Group != "") {
			rows = append(rows, []string{it.ref.String(), it.text})
		}
	}
	return rows
}

// claimNames returns the recorded claims of the group's entries.
func claimNames(group *scheduling.PodGroup) []string {
	var out []string
	for _, entry := range group.Spec.ResourceClaims {
		if entry.ResourceClaimName != nil {
			out = append(out, *entry.ResourceClaimName)
		}
		for _, st := range group.Status.ResourceClaimStatuses {
			if st.Name == entry.Name && st.ResourceClaimName != nil && entry.ResourceClaimName == nil {
				out = append(out, *st.ResourceClaimName)
			}
		}
	}
	return out
}

// groupClaims describes the devices of the group's claims.
func (v *view) groupClaims(group *scheduling.PodGroup) string {
	var out []string
	for _, name := range claimNames(group) {
		if claim, ok := v.claims[types.NamespacedName{Namespace: group.Namespace, Name: name}]; ok {
			out = append(out, "claim "+name+" "+claimText(claim))
		}
	}
	return strings.Join(out, ", ")
}

// devices returns the devices of a claim as driver/pool/device, or "-" if it is not allocated.
func devices(claim *resource.ResourceClaim) []string {
	if claim.Status.Allocation == nil {
		return []string{"-"}
	}
	var out []string
	for _, r := range claim.Status.Allocation.Devices.Results {
		out = append(out, r.Driver+"/"+r.Pool+"/"+r.Device)
	}
	if len(out) == 0 {
		return []string{"no device"}
	}
	return out
}

// consumers returns the consumers of a claim.
func consumers(claim *resource.ResourceClaim) string {
	const most = 3
	var out []string
	for i, ref := range claim.Status.ReservedFor {
		if i == most {
			out = append(out, fmt.Sprintf("%d more", len(claim.Status.ReservedFor)-most))
			break
		}
		out = append(out, consumer(ref))
	}
	return dashIfEmpty(strings.Join(out, ", "))
}

func consumer(ref resourcev1.ResourceClaimConsumerReference) string {
	return strings.TrimSuffix(ref.Resource, "s") + "/" + ref.Name
}

func nodesOf(pods []*core.Pod) string {
	var names []string
	for _, pod := range pods {
		if name := pod.Spec.NodeName; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > 3 {
		return fmt.Sprintf("%d nodes", len(names))
	}
	return dashIfEmpty(strings.Join(names, ", "))
}

func podCount(pods []*core.Pod) string {
	if len(pods) == 0 {
		return "none"
	}
	return strings.Replace(podsRunning(pods), " pods running", " running", 1)
}

func keyOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// label returns the name, preceded by the namespace unless it is the default one.
func label(obj metav1.Object) string {
	if obj.GetNamespace() == "" || obj.GetNamespace() == "default" {
		return obj.GetName()
	}
	return obj.GetNamespace() + "/" + obj.GetName()
}

func dashIfEmpty(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
