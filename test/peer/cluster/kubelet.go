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

// Kubelet is the part of a kubelet that handles claims, in this process: Kubernetes' own claim
// manager, and its plugin manager for drivers. There are no pod workers: the test calls
// PrepareResources and UnprepareResources instead.
type Kubelet struct {
	*dra.Manager

	node    string
	dir     string
	clients *kubernetes.Clientset // client with the user of the node's kubelet
	cancel  context.CancelFunc
	done    chan struct{}
}

// StartKubelet starts the kubelet of a node. Sockets are in dir, whose path must be short. The
// feature gates are those of this process.
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
	// Never ready: the reconciliation loop for deleted pods would hide claims that were not
	// unprepared when the pods ended.
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

// registry returns the directory in which drivers register.
func (l *Kubelet) registry() string { return filepath.Join(l.dir, "registry") }

// Pods returns the pods bound to the node.
func (l *Kubelet) Pods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := l.clients.CoreV1().Pods("").List(
		ctx,
		metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", l.node).String()},
	)
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Stop stops the kubelet.
func (l *Kubelet) Stop() {
	l.cancel()
	<-l.done
	l.Manager.Stop()
}
