package cluster

import (
	"context"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/dra"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/pluginmanager"
)

// Kubelet is what a kubelet does about claims, in this process: Kubernetes' own manager of them, and that of the drivers which register with it.
// There are no pod workers: who has it calls PrepareResources and UnprepareResources when they would.
type Kubelet struct {
	*dra.Manager

	node    string
	dir     string
	clients *kubernetes.Clientset // as the user that a node's kubelet is
	cancel  context.CancelFunc
	done    chan struct{}
}

// StartKubelet starts the kubelet of a node. Sockets are in dir, whose path has to be short. Its feature gates are those of this process.
func (k *Kubernetes) StartKubelet(ctx context.Context, node, dir string) (*Kubelet, error) {
	cfg, _, err := k.ClientFor(k.Config.Host, "system:node:"+node, "system:nodes")
	if err != nil {
		return nil, err
	}
	l := &Kubelet{node: node, dir: dir, done: make(chan struct{})}
	if l.clients, err = kubernetes.NewForConfig(cfg); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(l.registry(), 0o700); err != nil {
		return nil, err
	}
	if l.Manager, err = dra.NewManager(klog.Background(), l.clients, dir); err != nil {
		return nil, err
	}
	ctx, l.cancel = context.WithCancel(ctx)
	// Never ready: the loop that cleans up after pods that are gone would hide what was not taken back when they ended.
	ready := config.NewSourcesReady(func(sets.Set[string]) bool { return false })
	own := func(ctx context.Context) (*corev1.Node, error) {
		return l.clients.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	}
	if err := l.Start(ctx, func() []*corev1.Pod { return nil }, own, ready); err != nil {
		l.cancel()
		return nil, err
	}
	plugins := pluginmanager.NewPluginManager(l.registry(), &record.FakeRecorder{})
	plugins.AddHandler(registration.DRAPlugin, l.GetWatcherHandler())
	go func() {
		defer close(l.done)
		plugins.Run(ctx, ready, ctx.Done())
	}()
	return l, nil
}

// registry is where drivers register.
func (l *Kubelet) registry() string { return filepath.Join(l.dir, "registry") }

// Pods are those that are bound to the node.
func (l *Kubelet) Pods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := l.clients.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", l.node).String()})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Stop ends it.
func (l *Kubelet) Stop() {
	l.cancel()
	<-l.done
	l.Manager.Stop()
}
