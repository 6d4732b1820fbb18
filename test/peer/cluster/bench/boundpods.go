package main

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// boundPods records when a watch first shows each pod on a node.
type boundPods struct {
	mu      sync.Mutex
	at      map[string]time.Time // by name
	changed chan struct{}
}

// watchBound begins to watch the pods until ctx ends.
func watchBound(ctx context.Context, client kubernetes.Interface) (*boundPods, error) {
	b := &boundPods{at: map[string]time.Time{}, changed: make(chan struct{}, 1)}
	list := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", namespace, fields.Everything())
	informer := cache.NewSharedInformer(list, &corev1.Pod{}, 0)
	if err := informer.SetTransform(slim); err != nil {
		return nil, err
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: b.see, UpdateFunc: func(_, obj any) { b.see(obj) },
	}); err != nil {
		return nil, err
	}
	go informer.Run(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, ctx.Err()
	}
	return b, nil
}

// slim keeps what is read of a pod, so that this command needs little memory.
func slim(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		},
		Spec: corev1.PodSpec{NodeName: pod.Spec.NodeName},
	}, nil
}

func (b *boundPods) see(obj any) {
	pod, ok := obj.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return
	}
	b.mu.Lock()
	if _, seen := b.at[pod.Name]; !seen {
		b.at[pod.Name] = time.Now()
	}
	b.mu.Unlock()
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// times returns when the pods were bound that are, by name.
func (b *boundPods) times() map[string]time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.at)
}

// wait returns when all pods are bound.
func (b *boundPods) wait(ctx context.Context, pods []*corev1.Pod) error {
	for {
		n := b.count(pods)
		if n == len(pods) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d pods are bound: %w", n, len(pods), ctx.Err())
		case <-b.changed:
			time.Sleep(5 * time.Millisecond) // many events together
		}
	}
}

func (b *boundPods) count(pods []*corev1.Pod) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, pod := range pods {
		if _, ok := b.at[pod.Name]; ok {
			n++
		}
	}
	return n
}
