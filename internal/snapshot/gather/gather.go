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
	// Controllers includes the kinds that explain nothing and are needed to make plans: what creates
	// pods, and limits of new pods.
	Controllers bool
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
	isAllot := strings.HasSuffix(survey.Version, "+allot")
	if isAllot && survey.Composites {
		choice.Features = choice.Features.With(features.CompositePodGroup)
	}
	g := &Gatherer{kinds: kinds(set, plain), absent: map[string]bool{}, info: snapshot.Server{
		Version: survey.Version, Allot: isAllot, FeatureGates: choice.Features.String(),
	}}
	for _, kind := range choice.Absent {
		g.absent[kind] = true
	}
	return g, nil
}

// Snapshot reads everything. The result is of several moments, some milliseconds or seconds apart.
func (g *Gatherer) Snapshot(ctx context.Context, now time.Time) (*snapshot.Snapshot, error) {
	s, _, err := g.take(ctx, now)
	return s, err
}

// take reads everything, and returns what was listed, too.
func (g *Gatherer) take(ctx context.Context, now time.Time) (*snapshot.Snapshot, []listing, error) {
	s := snapshot.New(metav1.NewTime(now.UTC().Truncate(time.Second)), g.info)
	var listings []listing
	var mu sync.Mutex // guards s and listings
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(parallelLists)
	for i := range g.kinds {
		k := &g.kinds[i]
		if g.absent[k.resource] || k.controllers && !g.Controllers {
			continue
		}
		reading.Go(func() error {
			read, unknown, err := g.read(ctx, k)
			if err != nil {
				return fmt.Errorf("list %s: %w", k.resource, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if unknown != nil {
				s.Unknown = append(s.Unknown, *unknown)
			}
			for _, object := range read.objects {
				s.Put(object)
			}
			if read.version != "" {
				listings = append(listings, read)
			}
			return nil
		})
	}
	if err := reading.Wait(); err != nil {
		return nil, nil, err
	}
	keepEvents(s)
	s.Sort()
	return s, listings, nil
}

// listing is the objects of a kind as they were listed.
type listing struct {
	kind      *kind
	namespace string
	objects   []runtime.Object
	version   string // resource version of the list; "" if there is none
}

// read lists a kind. Missing rights are not an error.
func (g *Gatherer) read(ctx context.Context, k *kind) (listing, *snapshot.Unknown, error) {
	read, err := readAll(ctx, k, metav1.NamespaceAll)
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err):
		return listing{}, nil, nil // the server does not serve the kind, so that it decides nothing
	case !apierrors.IsForbidden(err):
		return read, nil, err
	}
	unknown := &snapshot.Unknown{Resource: k.resource, Reason: "you may not list them", Missing: k.missing}
	if !k.namespaced || g.Namespace == "" {
		return listing{}, unknown, nil
	}
	read, err = readAll(ctx, k, g.Namespace)
	if apierrors.IsForbidden(err) {
		return listing{}, unknown, nil
	}
	unknown.Reason = "you may list them only in namespace " + g.Namespace
	return read, unknown, err
}

// readAll lists the objects of a kind page by page.
func readAll(ctx context.Context, k *kind, namespace string) (listing, error) {
	read := listing{kind: k, namespace: namespace}
	opts := metav1.ListOptions{Limit: page}
	for {
		list, err := k.list(ctx, namespace, opts)
		switch {
		case apierrors.IsResourceExpired(err) && opts.Continue != "":
			// The pages took so long that the server forgot the revision: read it in one piece.
			read.objects, opts = nil, metav1.ListOptions{}
			continue
		case err != nil:
			return listing{}, err
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return listing{}, fmt.Errorf("read list: %w", err)
		}
		read.objects = append(read.objects, items...)
		info, err := meta.ListAccessor(list)
		if err != nil {
			return listing{}, errors.New("a list without metadata")
		}
		read.version = info.GetResourceVersion()
		if opts.Continue = info.GetContinue(); opts.Continue == "" {
			return read, nil
		}
	}
}

// keepEvents leaves only events about what a Snapshot explains.
func keepEvents(s *snapshot.Snapshot) {
	var kept []*corev1.Event
	for _, event := range s.Objects.Events {
		if isExplained(event) {
			kept = append(kept, event)
		}
	}
	s.Objects.Events = kept
}

// isExplained reports whether an event is about an object of a kind that can be explained.
func isExplained(event *corev1.Event) bool {
	switch event.InvolvedObject.Kind {
	case "Pod", "PodGroup", "ResourceClaim", "ResourceSlice", "DeviceTaintRule", "Job", "Node", "StatefulSet":
		return true
	}
	return false
}
