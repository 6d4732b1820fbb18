package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/etcd3/metrics"
	"k8s.io/apiserver/pkg/storage/feature"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/etcd"
)

const etcdPrefix = "/registry"

// backend is the storage of objects: the embedded etcd, accessed by function calls, or an external
// one, accessed by gRPC.
type backend struct {
	member *etcd.Server
	// client is nil with an external etcd.
	client    *kubernetes.Client
	compactor etcd3.Compactor
	stop      func()
	etcd      ExternalEtcd // configuration for the generic code
}

// openBackend starts the embedded etcd, unless cfg has an external one.
func openBackend(ctx context.Context, cfg Config) (*backend, error) {
	if len(cfg.Etcd.URLs) > 0 {
		b := &backend{etcd: cfg.Etcd, stop: func() {}}
		return b, b.awaitEtcd(ctx)
	}
	member, err := etcd.Start(ctx, etcd.Options{Dir: cfg.etcdDir(), UnsafeNoFsync: cfg.UnsafeNoFsync})
	if err != nil {
		return nil, err
	}
	client := tracked(member.Client())
	feature.DefaultFeatureSupportChecker.CheckClient(ctx, localEndpoint{member}, storage.RequestWatchProgress)
	compactor := etcd3.NewCompactor(client.Client, storagebackend.DefaultCompactInterval, clock.RealClock{}, func() {})
	return &backend{
		member:    member,
		client:    client,
		compactor: compactor,
		stop:      compactor.Stop,
		etcd:      ExternalEtcd{URLs: []string{member.Endpoint()}},
	}, nil
}

// awaitEtcd waits until the external etcd responds. The generic code would wait for as long, but not
// name the etcd, and not stop with ctx.
func (b *backend) awaitEtcd(ctx context.Context) error {
	reached := make(chan error, 1)
	go func() {
		cfg := storagebackend.NewDefaultConfig(etcdPrefix, nil)
		b.etcd.describe(&cfg.Transport)
		prober, err := factory.CreateProber(*cfg)
		if err == nil {
			err = prober.Close()
		}
		reached <- err
	}()
	select {
	case err := <-reached:
		if err != nil {
			return fmt.Errorf("etcd at %s: %w", strings.Join(b.etcd.URLs, ", "), err)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// describe sets the access to the etcd in the configuration of the generic code.
func (e ExternalEtcd) describe(transport *storagebackend.TransportConfig) {
	transport.ServerList = e.URLs
	transport.TrustedCAFile, transport.CertFile, transport.KeyFile = e.CAFile, e.CertFile, e.KeyFile
}

// tracked returns a client of the type that the storage requires.
func tracked(etcd *clientv3.Client) *kubernetes.Client {
	client := &kubernetes.Client{Client: etcd}
	client.KV = etcd3.NewETCDLatencyTracker(client.KV)
	client.Kubernetes = client
	return client
}

// isAlone reports whether no other API server can have written since this one was started. It is
// false for a server on an external etcd.
func (b *backend) isAlone() bool { return b.member != nil && b.member.Alone() }

func (b *backend) close() error {
	b.stop()
	if b.member == nil {
		return nil
	}
	return b.member.Close()
}

// failed returns a channel with an error when the embedded etcd fails.
func (b *backend) failed() <-chan error {
	if b.member == nil {
		return nil
	}
	return b.member.Err()
}

// options returns the generic server's etcd options for objects encoded by codec.
func (b *backend) options(codec runtime.Codec, versioner runtime.GroupVersioner) *options.EtcdOptions {
	o := options.NewEtcdOptions(storagebackend.NewDefaultConfig(etcdPrefix, codec))
	b.etcd.describe(&o.StorageConfig.Transport)
	o.StorageConfig.EncodeVersioner = versioner
	o.DefaultStorageMediaType = runtime.ContentTypeProtobuf
	o.DeleteCollectionWorkers = deleteWorkers
	o.SkipHealthEndpoints = b.client != nil
	return o
}

// addHealthCheck adds a check of the embedded etcd. The options have a check for an external one.
func (b *backend) addHealthCheck(cfg *genericapiserver.Config) {
	if b.client == nil {
		return
	}
	cfg.AddHealthChecks(healthz.NamedCheck("etcd", func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		if _, err := b.client.Client.Get(ctx, etcdPrefix+"/health"); err != nil {
			return fmt.Errorf("etcd: %w", err)
		}
		return nil
	}))
}

// exportSize reports the size of the embedded etcd in /metrics. It replaces the monitor set by the
// options, which would connect to the socket.
func (b *backend) exportSize() {
	if b.member == nil {
		return
	}
	metrics.SetStorageMonitorGetter(func() ([]metrics.Monitor, error) {
		return []metrics.Monitor{localEndpoint{b.member}}, nil
	})
}

// localEndpoint implements for the embedded etcd the requests that the generic code makes to an endpoint,
// which an in-process client does not have.
type localEndpoint struct {
	member *etcd.Server
}

// Endpoints returns the name of the member.
func (l localEndpoint) Endpoints() []string { return []string{l.member.Endpoint()} }

// Status returns the version, which determines the requests that the watch cache may make.
func (l localEndpoint) Status(context.Context, string) (*clientv3.StatusResponse, error) {
	return &clientv3.StatusResponse{Version: l.member.Version(), DbSize: l.member.SizeBytes()}, nil
}

// Monitor implements metrics.Monitor.
func (l localEndpoint) Monitor(context.Context) (metrics.StorageMetrics, error) {
	return metrics.StorageMetrics{Size: l.member.SizeBytes()}, nil
}

// Close implements metrics.Monitor. It does nothing.
func (localEndpoint) Close() error { return nil }

// wrap returns a getter whose resources use the in-process client.
func (b *backend) wrap(getter generic.RESTOptionsGetter) generic.RESTOptionsGetter {
	if b.client == nil {
		return getter
	}
	return inProcessGetter{getter, b}
}

type inProcessGetter struct {
	generic.RESTOptionsGetter
	backend *backend
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (g inProcessGetter) GetRESTOptions(
	resource schema.GroupResource, example runtime.Object,
) (generic.RESTOptions, error) {
	opts, err := g.RESTOptionsGetter.GetRESTOptions(resource, example)
	if err != nil {
		return opts, err
	}
	opts.Decorator = g.backend.storage
	return opts, nil
}

// storage is a generic.StorageDecorator: a watch cache over the in-process client. It is equivalent
// to what the generic registry builds over gRPC. Each resource has its own client and thus its own
// stream of watches. On a shared stream, a watch cache that ends while it starts (that of a
// CustomResourceDefinition whose names have just been accepted) can keep etcd from sending progress
// notifications to all others, and then clients that list by watching wait until something changes.
func (b *backend) storage(
	config *storagebackend.ConfigForResource, resourcePrefix string,
	keyFunc func(runtime.Object) (string, error), newFunc, newListFunc func() runtime.Object,
	attrs storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers,
) (storage.Interface, factory.DestroyFunc, error) {
	versioner := storage.APIObjectVersioner{}
	client := tracked(b.member.NewClient())
	raw, err := etcd3.New(client, b.compactor, config.Codec, newFunc, newListFunc, config.Prefix, resourcePrefix,
		config.GroupResource, identity.NewEncryptCheckTransformer(), config.LeaseManagerConfig,
		etcd3.NewDefaultDecoder(config.Codec, versioner), versioner)
	if err != nil {
		client.Close()
		return nil, nil, err
	}
	c, err := cacher.NewCacherFromConfig(cacher.Config{
		Storage:             raw,
		Versioner:           versioner,
		GroupResource:       config.GroupResource,
		EventsHistoryWindow: config.EventsHistoryWindow,
		ResourcePrefix:      resourcePrefix,
		KeyFunc:             keyFunc,
		NewFunc:             newFunc,
		NewListFunc:         newListFunc,
		GetAttrsFunc:        attrs,
		IndexerFuncs:        triggers,
		Indexers:            indexers,
		Codec:               config.Codec,
	})
	if err != nil {
		raw.Close()
		client.Close()
		return nil, nil, err
	}
	delegator := cacher.NewCacheDelegator(c, raw)
	return delegator, sync.OnceFunc(func() {
		delegator.Stop()
		c.Stop()
		raw.Close()
		client.Close()
	}), nil
}
