package node

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/fleet"
)

// TestScenarios plays the files of testdata. Each verb prints the writes and events that it led to.
//
//	agent [nodes=N] [devices=N] [idle] [drops-status]  (input: a fleet) starts an agent, a new one if there was one
//	pod NAME node=N [claim=C] [record=C] [group=G] [restart=P] [init] [host-network] [gate=T] [KEY=VALUE for annotations]
//	(held: the cache does not show changes of it until "show NAME"; "hold NAME" begins that later; "touch NAME" queues it)
//	claim NAME [allocated[=DEVICE]] [anypod] [owner=pod:UID|group:NAME] [for=pod:NAME[:UID]|group:NAME|workload:NAME] [held: the cache does not show it]
//	broken CLAIM | whole CLAIM: it cannot be prepared and unprepared, or can again
//	unreadable CLAIM | readable CLAIM: it cannot be read past the cache, or can again
//	delete pod NAME [grace=SECONDS] | force NAME: away with it, whatever runs | delete node NAME | delete slice NAME
//	replace pod NAME: deletes and creates it under another UID, before the agent looks
//	finalizer NAME; condition NAME TYPE; annotate node NAME KEY=VALUE; cordon NAME
//	advance DURATION
//	pods | nodes | slices: print
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w.log = nil
			out, err := w.play(t, d)
			if err == nil {
				err = w.settle()
			}
			if err != nil {
				out += "error: " + err.Error() + "\n"
			}
			return strings.Join(append(w.log, ""), "\n") + out
		})
	})
}

func (w *world) play(t *testing.T, d *datadriven.TestData) (string, error) {
	switch d.Cmd {
	case "agent":
		return "", w.playAgent(t, d)
	case "pod":
		pod := w.newPod(d, w.born)
		w.born++
		if d.HasArg("held") {
			w.stale[keyOf(pod.Name)] = pod
		}
		w.setPod(pod)
	case "claim":
		w.playClaim(d)
	case "broken":
		w.broken[d.CmdArgs[0].Key] = true
	case "whole":
		delete(w.broken, d.CmdArgs[0].Key)
	case "unreadable":
		w.unreadable[d.CmdArgs[0].Key] = true
	case "readable":
		delete(w.unreadable, d.CmdArgs[0].Key)
	case "force":
		key := keyOf(d.CmdArgs[0].Key)
		if d.HasArg("unseen") { // the cache shows the request and the end in one event
			w.pods[key] = w.deleted(key, 0)
		}
		w.removePod(key)
	case "replace":
		key := keyOf(d.CmdArgs[1].Key)
		next := w.pods[key].DeepCopy()
		w.removePod(key)
		next.UID, next.Status = next.UID+"-again", corev1.PodStatus{Phase: corev1.PodPending}
		w.setPod(next)
	case "delete":
		w.playDelete(d)
	case "finalizer":
		next := w.pods[keyOf(d.CmdArgs[0].Key)].DeepCopy()
		next.Finalizers = []string{"example.com/keep"}
		w.setPod(next)
	case "condition":
		next := w.pods[keyOf(d.CmdArgs[0].Key)].DeepCopy()
		next.Status.Conditions = append(next.Status.Conditions,
			corev1.PodCondition{Type: corev1.PodConditionType(d.CmdArgs[1].Key), Status: corev1.ConditionTrue})
		w.setPod(next)
	case "annotate":
		next := w.node[d.CmdArgs[1].Key].DeepCopy()
		if next.Annotations == nil {
			next.Annotations = map[string]string{}
		}
		next.Annotations[d.CmdArgs[2].Key] = strings.Join(d.CmdArgs[2].Vals, "")
		w.setNode(next)
	case "cordon":
		next := w.node[d.CmdArgs[0].Key].DeepCopy()
		next.Spec.Unschedulable = true
		next.Labels["users"] = "own"
		next.Spec.Taints = append(next.Spec.Taints, corev1.Taint{Key: "users", Effect: corev1.TaintEffectNoExecute})
		w.setNode(next)
	case "hold":
		w.stale[keyOf(d.CmdArgs[0].Key)] = w.pods[keyOf(d.CmdArgs[0].Key)]
	case "show":
		key := keyOf(d.CmdArgs[0].Key)
		delete(w.stale, key)
		w.podQueue.Add(key)
	case "touch":
		w.podQueue.Add(keyOf(d.CmdArgs[0].Key))
	case "advance":
		by, err := time.ParseDuration(d.CmdArgs[0].Key)
		if err != nil {
			return "", err
		}
		return "", w.advance(by)
	case "pods":
		return w.printPods(), nil
	case "nodes":
		return w.printNodes(), nil
	default:
		return "", fmt.Errorf("unknown command %s", d.Cmd)
	}
	return "", nil
}

func (w *world) playAgent(t *testing.T, d *datadriven.TestData) error {
	nodes, devices := 2, 2
	d.MaybeScanArgs(t, "nodes", &nodes)
	d.MaybeScanArgs(t, "devices", &devices)
	w.statusDroppedOnCreate = d.HasArg("drops-status")
	f := fleet.Simple(nodes, devices)
	if d.Input != "" {
		var err error
		if f, err = fleet.Parse([]byte(d.Input)); err != nil {
			return err
		}
	}
	w.start(f, d.HasArg("idle"))
	if err := w.settle(); err != nil {
		return err
	}
	slices.Sort(w.log)
	select {
	case <-w.agent.Ready():
		w.note("ready")
	default:
	}
	return nil
}

func keyOf(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

func (w *world) newPod(d *datadriven.TestData, n int) *core.Pod {
	pod := &core.Pod{}
	pod.Namespace, pod.Name, pod.UID = "default", d.CmdArgs[0].Key, types.UID(fmt.Sprintf("pod-%d", n))
	pod.Generation = 1
	pod.Annotations = map[string]string{}
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "pause"}}
	pod.Status.Phase = corev1.PodPending
	pod.Status.Conditions = []corev1.PodCondition{{Type: "example.com/other", Status: corev1.ConditionTrue}}
	for _, arg := range d.CmdArgs[1:] {
		value := strings.Join(arg.Vals, "")
		switch arg.Key {
		case "node":
			pod.Spec.NodeName = value
		case "claim":
			entry := core.PodResourceClaim{}
			entry.Name, entry.ResourceClaimName = "c", &value
			pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, entry)
		case "own":
			entry := core.PodResourceClaim{}
			entry.Name, entry.ResourceClaimTemplateName = "t", &value
			pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, entry)
		case "template":
			entry := core.PodResourceClaim{PodGroupResourceClaim: &value}
			entry.Name = "t"
			pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, entry)
		case "record":
			pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "t", ResourceClaimName: &value}}
		case "extended":
			pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: value}
		case "group":
			pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &value}
		case "restart":
			pod.Spec.RestartPolicy = corev1.RestartPolicy(value)
		case "init":
			pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "pause"}}
		case "held":
		case "host-network":
			pod.Spec.HostNetwork = true
		case "gate":
			pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: corev1.PodConditionType(value)}}
		default:
			pod.Annotations["allot.dev/"+arg.Key] = value
		}
	}
	return pod
}

func (w *world) playClaim(d *datadriven.TestData) {
	claim := &resource.ResourceClaim{}
	claim.Namespace, claim.Name = "default", d.CmdArgs[0].Key
	claim.UID = types.UID(claim.Name + "-uid")
	key := keyOf(claim.Name)
	before := w.claim[key]
	delete(w.staleClaim, key)
	for _, arg := range d.CmdArgs[1:] {
		switch arg.Key {
		case "allocated":
			claim.Status.Allocation = &resource.AllocationResult{}
			for _, device := range arg.Vals {
				claim.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{
					{Request: "r", Driver: "sim.allot.dev", Pool: "node-0", Device: device},
				}
			}
		case "anypod":
			claim.Status.Allocation.ReservedForAnyPod = new(true)
		case "uid":
			claim.UID = types.UID(arg.Vals[0])
		case "owner":
			kind, name, _ := strings.Cut(arg.Vals[0], ":")
			owner := metav1.OwnerReference{
				APIVersion: "v1",
				Kind:       "Pod",
				Name:       name,
				UID:        types.UID(name),
				Controller: new(true),
			}
			if kind == "group" {
				owner.APIVersion, owner.Kind = "scheduling.k8s.io/v1beta1", "PodGroup"
			}
			claim.OwnerReferences = []metav1.OwnerReference{owner}
		case "for":
			claim.Status.ReservedFor = append(claim.Status.ReservedFor, consumer(arg.Vals[0]))
		case "held":
			w.staleClaim[key] = before
		}
	}
	w.claim[key] = claim
	w.agent.pods.onClaim(before, claim)
}

func consumer(text string) resourcev1.ResourceClaimConsumerReference {
	words := strings.Split(text, ":")
	switch ref := (resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: words[1], UID: "pod-0"}); {
	case words[0] == "group":
		ref.APIGroup, ref.Resource, ref.UID = "scheduling.k8s.io", "podgroups", "g"
		return ref
	case words[0] == "workload":
		ref.APIGroup, ref.Resource, ref.UID = "example.com", "workloads", "w"
		return ref
	case len(words) > 2:
		ref.UID = types.UID(words[2])
		return ref
	default:
		return ref
	}
}

func (w *world) playDelete(d *datadriven.TestData) {
	name := d.CmdArgs[1].Key
	switch d.CmdArgs[0].Key {
	case "pod":
		grace := int64(30)
		for _, arg := range d.CmdArgs[2:] {
			_, _ = fmt.Sscan(arg.Vals[0], &grace)
		}
		w.setPod(w.deleted(keyOf(name), grace))
	case "node":
		before := w.node[name]
		delete(w.node, name)
		w.onNode(before, nil)
	case "slice":
		w.removeSlice(name)
	}
}

func (w *world) deleted(key types.NamespacedName, grace int64) *core.Pod {
	next := w.pods[key].DeepCopy()
	next.DeletionTimestamp = new(metav1.NewTime(w.clock.Now().Add(time.Duration(grace) * time.Second)))
	next.DeletionGracePeriodSeconds = &grace
	return next
}

func (w *world) printPods() string {
	var b strings.Builder
	keys := slices.SortedFunc(maps.Keys(w.pods),
		func(a, b types.NamespacedName) int { return strings.Compare(a.Name, b.Name) })
	for _, key := range keys {
		pod := w.pods[key]
		fmt.Fprintf(&b, "%s %s ip %s on %s\n", pod.Name, pod.Status.Phase, pod.Status.PodIP, pod.Status.HostIP)
		for _, c := range pod.Status.Conditions {
			fmt.Fprintf(&b, "  %s=%s %s\n", c.Type, c.Status, c.Reason)
		}
		for _, c := range append(slices.Clone(pod.Status.InitContainerStatuses), pod.Status.ContainerStatuses...) {
			fmt.Fprintf(&b, "  container %s ready=%t started=%t restarts=%d %s\n", c.Name, c.Ready, *c.Started, c.RestartCount,
				printState(c.State))
			if c.LastTerminationState.Terminated != nil {
				fmt.Fprintf(&b, "    before: %s\n", printState(c.LastTerminationState))
			}
		}
		for _, c := range pod.Status.ResourceClaimStatuses {
			fmt.Fprintf(&b, "  claim %s is %s\n", c.Name, *c.ResourceClaimName)
		}
	}
	return b.String()
}

func printState(s corev1.ContainerState) string {
	clock := func(t metav1.Time) string { return t.UTC().Format("04:05") }
	switch {
	case s.Running != nil:
		return "running since " + clock(s.Running.StartedAt)
	case s.Terminated != nil:
		return fmt.Sprintf("%s(%d) %s-%s", s.Terminated.Reason, s.Terminated.ExitCode, clock(s.Terminated.StartedAt),
			clock(s.Terminated.FinishedAt))
	case s.Waiting != nil:
		return "waiting: " + s.Waiting.Reason
	}
	return "unknown"
}

func (w *world) printNodes() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(w.node)) {
		n := w.node[name]
		fmt.Fprintf(&b, "%s unschedulable=%t labels=%d", n.Name, n.Spec.Unschedulable, len(n.Labels))
		for _, taint := range n.Spec.Taints {
			fmt.Fprintf(&b, " taint %s", taint.ToString())
		}
		for _, c := range n.Status.Conditions {
			fmt.Fprintf(&b, " %s=%s", c.Type, c.Status)
		}
		fmt.Fprintf(&b, " cpu=%s address %s\n", n.Status.Allocatable.Cpu(), n.Status.Addresses[0].Address)
	}
	return b.String()
}
