package gather

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/allot-dev/allot/internal/attach"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/snapshot"
)

const (
	// parallelLists is the number of kinds that are read at the same time.
	parallelLists = 4
	// page is the number of objects in one response.
	page = 1000
)

// Gatherer reads Snapshots from one server.
type Gatherer struct {
	info   snapshot.Server
	kinds  []kind
	absent map[string]bool
	// Namespace is read alone where the rights do not suffice for all namespaces; "" for none.
	Namespace string
}

// New surveys the server and returns a Gatherer for it.
func New(ctx context.Context, cfg *rest.Config) (*Gatherer, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1 // the few lists of a snapshot need no throttling
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a discovery client for %s: %w", cfg.Host, err)
	}
	// One group version at a time, so that a broken one matters only if it is needed.
	d.UseLegacyDiscovery = true
	survey, err := attach.Look(ctx, d)
	if err != nil {
		return nil, err
	}
	choice := attach.Choose(survey, nil, features.Set{})
	set, err := client.NewFor(cfg, choice.Dialect)
	if err != nil {
		return nil, err
	}
	plain, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make clients for %s: %w", cfg.Host, err)
	}
	g := &Gatherer{kinds: kinds(set, plain), absent: map[string]bool{}, info: snapshot.Server{
		Version: survey.Version, Allot: strings.HasSuffix(survey.Version, "+allot"), FeatureGates: choice.Features.String(),
	}}
	for _, kind := range choice.Absent {
		g.absent[kind] = true
	}
	return g, nil
}

// Snapshot reads everything. The result is of several moments, some milliseconds or seconds apart.
func (g *Gatherer) Snapshot(ctx context.Context, now time.Time) (*snapshot.Snapshot, error) {
	s := snapshot.New(metav1.NewTime(now.UTC().Truncate(time.Second)), g.info)
	var mu sync.Mutex // guards s
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(parallelLists)
	for i := range g.kinds {
		k := &g.kinds[i]
		if g.absent[k.resource] {
			continue
		}
		reading.Go(func() error {
			objects, unknown, err := g.read(ctx, k)
			if err != nil {
				return fmt.Errorf("list %s: %w", k.resource, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if unknown != nil {
				s.Unknown = append(s.Unknown, *unknown)
			}
			for _, object := range objects {
				s.Put(object)
			}
			return nil
		})
	}
	if err := reading.Wait(); err != nil {
		return nil, err
	}
	keepEvents(s)
	s.Sort()
	return s, nil
}

// read lists a kind. Missing rights are not an error.
func (g *Gatherer) read(ctx context.Context, k *kind) ([]runtime.Object, *snapshot.Unknown, error) {
	objects, err := readAll(ctx, k, metav1.NamespaceAll)
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err):
		return nil, nil, nil // the server does not serve the kind, so that it decides nothing
	case !apierrors.IsForbidden(err):
		return objects, nil, err
	}
	unknown := &snapshot.Unknown{Resource: k.resource, Reason: "you may not list them", Missing: k.missing}
	if !k.namespaced || g.Namespace == "" {
		return nil, unknown, nil
	}
	objects, err = readAll(ctx, k, g.Namespace)
	if apierrors.IsForbidden(err) {
		return nil, unknown, nil
	}
	unknown.Reason = "you may list them only in namespace " + g.Namespace
	return objects, unknown, err
}

// readAll lists the objects of a kind page by page.
func readAll(ctx context.Context, k *kind, namespace string) ([]runtime.Object, error) {
	var objects []runtime.Object
	opts := metav1.ListOptions{Limit: page}
	for {
		list, err := k.list(ctx, namespace, opts)
		switch {
		case apierrors.IsResourceExpired(err) && opts.Continue != "":
			// The pages took so long that the server forgot the revision: read it in one piece.
			objects, opts = nil, metav1.ListOptions{}
			continue
		case err != nil:
			return nil, err
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return nil, fmt.Errorf("read list: %w", err)
		}
		objects = append(objects, items...)
		info, err := meta.ListAccessor(list)
		if err != nil {
			return nil, errors.New("a list without metadata")
		}
		if opts.Continue = info.GetContinue(); opts.Continue == "" {
			return objects, nil
		}
	}
}

// keepEvents leaves only events about what a Snapshot explains.
func keepEvents(s *snapshot.Snapshot) {
	var kept []*corev1.Event
	for _, event := range s.Objects.Events {
		switch event.InvolvedObject.Kind {
		case "Pod", "PodGroup", "ResourceClaim", "ResourceSlice", "DeviceTaintRule", "Job", "Node", "StatefulSet":
			kept = append(kept, event)
		}
	}
	s.Objects.Events = kept
}
