package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
)

// The addresses of all pods.
const (
	hostIP = "192.0.2.1"
	podIP  = "192.0.2.2"
)

// MachineName is the node for pods that do not select another one.
const MachineName = "machine"

// Mode is the behaviour of a Kubelet for the pods of a namespace.
type Mode string

// The modes of a Kubelet.
const (
	Off     Mode = "off"     // nothing for new pods; terminating pods are deleted
	Running Mode = "running" // pods are bound and run; they are not ready
	Ready   Mode = "ready"   // pods are bound, run and are ready
	Hold    Mode = "hold"    // as ready, but terminating pods stay
)

// Kubelet binds pods and writes their status, instead of a scheduler and nodes.
type Kubelet struct {
	clients kubernetes.Interface
	lister  listers.PodLister
	queue   workqueue.TypedRateLimitingInterface[cache.ObjectName]

	mu    sync.Mutex
	modes map[string]Mode // by namespace; others are ignored
	nodes map[string]bool // names of nodes with leases
}

// StartKubelet starts a Kubelet that runs until ctx ends.
func StartKubelet(ctx context.Context, clients kubernetes.Interface) (*Kubelet, error) {
	factory := informers.NewSharedInformerFactory(clients, 0)
	pods := factory.Core().V1().Pods()
	k := &Kubelet{clients: clients, lister: pods.Lister(), modes: map[string]Mode{}, nodes: map[string]bool{},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())}
	add := func(obj any) {
		if pod, ok := obj.(*corev1.Pod); ok {
			k.queue.Add(cache.MetaObjectToName(pod))
		}
	}
	_, err := pods.Informer().AddEventHandler(
		cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) }},
	)
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), pods.Informer().HasSynced) {
		return nil, ctx.Err()
	}
	context.AfterFunc(ctx, k.queue.ShutDown)
	for range 4 {
		go k.work(ctx)
	}
	go k.heartbeat(ctx)
	return k, nil
}

// heartbeat renews the leases of all nodes. A node without a lease is lost after 50 s.
func (k *Kubelet) heartbeat(ctx context.Context) {
	ticker := time.NewTicker(10 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		k.mu.Lock()
		names := slices.Collect(maps.Keys(k.nodes))
		k.mu.Unlock()
		for _, name := range names {
			_ = k.renew(ctx, name) // the next one is well within the grace period
		}
	}
}

// renew renews the lease of a node, or creates it.
func (k *Kubelet) renew(ctx context.Context, node string) error {
	leases := k.clients.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now := metav1.NowMicro()
	body, err := json.Marshal(map[string]any{"spec": map[string]any{"renewTime": now}})
	if err != nil {
		return err
	}
	_, err = leases.Patch(ctx, node, types.MergePatchType, body, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: node},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity:       &node,
				LeaseDurationSeconds: ptr.To[int32](40),
				RenewTime:            &now,
			},
		}, metav1.CreateOptions{})
	}
	return err
}

// SetMode sets the mode for a namespace, and applies it to existing pods.
func (k *Kubelet) SetMode(namespace string, mode Mode) error {
	k.mu.Lock()
	k.modes[namespace] = mode
	k.mu.Unlock()
	pods, err := k.lister.Pods(namespace).List(labels.Everything())
	for _, pod := range pods {
		k.queue.Add(cache.MetaObjectToName(pod))
	}
	return err
}

func (k *Kubelet) mode(namespace string) Mode {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.modes[namespace]
}

func (k *Kubelet) work(ctx context.Context) {
	for {
		name, shutdown := k.queue.Get()
		if shutdown {
			return
		}
		if err := k.sync(ctx, name); err != nil && !apierrors.IsNotFound(err) {
			k.queue.AddRateLimited(name)
		} else {
			k.queue.Forget(name)
		}
		k.queue.Done(name)
	}
}

func (k *Kubelet) sync(ctx context.Context, name cache.ObjectName) error {
	mode := k.mode(name.Namespace)
	if mode == "" {
		return nil
	}
	pod, err := k.lister.Pods(name.Namespace).Get(name.Name)
	switch {
	case err != nil:
		return err
	case pod.DeletionTimestamp != nil:
		if mode == Hold || pod.Spec.NodeName == "" {
			return nil
		}
		return k.terminate(ctx, pod)
	case mode == Off || finished(pod) || len(pod.Spec.SchedulingGates) > 0:
		return nil
	case mode == Running:
		return k.run(ctx, pod, false)
	default:
		return k.run(ctx, pod, true)
	}
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// run binds the pod, if it is not bound, and sets its status to running. It changes running pods
// only to ready.
func (k *Kubelet) run(ctx context.Context, pod *corev1.Pod, ready bool) error {
	if err := k.bind(ctx, pod); err != nil {
		return err
	}
	if pod.Status.Phase == corev1.PodRunning {
		return nil
	}
	return k.SetRunning(ctx, pod, ready)
}

func (k *Kubelet) bind(ctx context.Context, pod *corev1.Pod) error {
	if pod.Spec.NodeName != "" {
		return nil
	}
	err := k.clients.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: target(pod)},
	}, metav1.CreateOptions{})
	if apierrors.IsConflict(err) {
		return nil // both a step of the script and the mode bind it, to the same node
	}
	return err
}

// target returns the node for the pod: daemon pods have it in a node affinity.
func target(pod *corev1.Pod) string {
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil &&
		a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, field := range term.MatchFields {
				if field.Key == "metadata.name" && len(field.Values) == 1 {
					return field.Values[0]
				}
			}
		}
	}
	return MachineName
}

// SetRunning writes the status of a pod whose containers run.
func (k *Kubelet) SetRunning(ctx context.Context, pod *corev1.Pod, ready bool) error {
	now := metav1.Now()
	status := &corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &now, HostIP: hostIP, PodIP: podIP}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(
			status.ContainerStatuses,
			corev1.ContainerStatus{Name: c.Name, Image: c.Image, Ready: ready,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}},
		)
	}
	status.Conditions = conditions(ready, now)
	return k.patch(ctx, pod, status)
}

// SetReady writes whether a running pod is ready.
func (k *Kubelet) SetReady(ctx context.Context, pod *corev1.Pod, ready bool) error {
	return k.SetRunning(ctx, pod, ready)
}

// SetFinished writes the status of a pod whose containers have ended.
func (k *Kubelet) SetFinished(ctx context.Context, pod *corev1.Pod, exitCode int32) error {
	now := metav1.Now()
	status := &corev1.PodStatus{
		Phase:      corev1.PodSucceeded,
		StartTime:  &now,
		HostIP:     hostIP,
		PodIP:      podIP,
		Conditions: conditions(false, now),
	}
	reason := "Completed"
	if exitCode != 0 {
		status.Phase, reason = corev1.PodFailed, "Error"
	}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: exitCode, Reason: reason, StartedAt: now, FinishedAt: now}}})
	}
	return k.patch(ctx, pod, status)
}

// SetDisrupted writes the condition DisruptionTarget.
func (k *Kubelet) SetDisrupted(ctx context.Context, pod *corev1.Pod) error {
	return k.patch(ctx, pod, &corev1.PodStatus{Conditions: []corev1.PodCondition{{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByTest",
		LastTransitionTime: metav1.Now(),
	}}})
}

func conditions(ready bool, now metav1.Time) []corev1.PodCondition {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	return []corev1.PodCondition{
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: now},
		{Type: corev1.ContainersReady, Status: status, LastTransitionTime: now},
		{Type: corev1.PodReady, Status: status, LastTransitionTime: now},
	}
}

// terminate does what a kubelet does after the containers of a deleted pod have ended: it writes
// the final status, then deletes the pod.
func (k *Kubelet) terminate(ctx context.Context, pod *corev1.Pod) error {
	if !finished(pod) && len(pod.Finalizers) > 0 {
		if err := k.SetFinished(ctx, pod, 137); err != nil {
			return err
		}
	}
	now := int64(0)
	return k.clients.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
}

func (k *Kubelet) patch(ctx context.Context, pod *corev1.Pod, status *corev1.PodStatus) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil {
		return err
	}
	_, err = k.clients.CoreV1().Pods(pod.Namespace).Patch(
		ctx,
		pod.Name,
		types.StrategicMergePatchType,
		body,
		metav1.PatchOptions{},
		"status",
	)
	return err
}

// SetNode creates a node, or writes whether it is ready.
func (k *Kubelet) SetNode(ctx context.Context, node *corev1.Node, ready bool) error {
	_, err := k.clients.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	k.mu.Lock()
	k.nodes[node.Name] = true
	k.mu.Unlock()
	condition := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}
	if !ready {
		condition.Status, condition.Reason = corev1.ConditionFalse, "KubeletNotReady"
	}
	body, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []any{condition},
		"capacity": capacity(), "allocatable": capacity()}})
	if err != nil {
		return err
	}
	if _, err = k.clients.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, body,
		metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("status of node %s: %w", node.Name, err)
	}
	return k.waitTaint(ctx, node.Name, ready)
}

func capacity() map[string]string {
	return map[string]string{"cpu": "100", "memory": "100Gi", "pods": "1000"}
}

// waitTaint waits until the node lifecycle controller has seen whether the node is ready.
func (k *Kubelet) waitTaint(ctx context.Context, name string, ready bool) error {
	for {
		node, err := k.clients.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		tainted := false
		for _, taint := range node.Spec.Taints {
			tainted = tainted || taint.Key == corev1.TaintNodeNotReady
		}
		if tainted != ready {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("node %s: taint %s: %w", name, corev1.TaintNodeNotReady, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}
