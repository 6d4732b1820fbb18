package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	extensionsoptions "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/tools/cache"
)

// newCustomResources returns the server, behind allot's own, for CustomResourceDefinitions and
// their objects. It shares the listener, authentication and aggregated discovery.
func (s *Server) newCustomResources(
	front *genericapiserver.Config, services webhook.ServiceResolver,
) (*extensions.CustomResourceDefinitions, error) {
	generic := *front
	generic.PostStartHooks = map[string]genericapiserver.PostStartHookConfigEntry{}
	generic.RESTOptionsGetter = nil
	generic.MergedResourceConfig = extensions.DefaultAPIResourceConfigSource()

	etcd := s.backend.options(extensions.Codecs.LegacyCodec(apiextensionsv1.SchemeGroupVersion),
		apiextensionsv1.SchemeGroupVersion)
	etcd.SkipHealthEndpoints = true
	if err := etcd.ApplyTo(&generic); err != nil {
		return nil, err
	}
	generic.RESTOptionsGetter = s.backend.wrap(generic.RESTOptionsGetter)
	objects := extensionsoptions.NewCRDRESTOptionsGetter(*etcd, generic.ResourceTransformers,
		generic.StorageObjectCountTracker)
	cfg := &extensions.Config{
		GenericConfig: &genericapiserver.RecommendedConfig{Config: generic},
		ExtraConfig: extensions.ExtraConfig{
			CRDRESTOptionsGetter: s.backend.wrap(objects),
			MasterCount:          1,
			ServiceResolver:      services,
			AuthResolverWrapper: webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, s.loopback,
				noop.NewTracerProvider()),
		},
	}
	return cfg.Complete().New(genericapiserver.NewEmptyDelegate())
}

// groupFollower keeps the list of API groups at /apis up to date with the
// CustomResourceDefinitions. The delegate maintains aggregated discovery.
type groupFollower struct {
	manager discovery.GroupManager
	lister  listers.CustomResourceDefinitionLister
	// own are the groups of the server in front, which are always listed.
	own []string
	// shown are the groups that were added here. Only the informer's goroutine calls sync.
	shown map[string]bool
}

// followGroups starts the follower. It must be called before the informer starts.
func followGroups(front *genericapiserver.GenericAPIServer, custom *extensions.CustomResourceDefinitions) error {
	own, err := front.DiscoveryGroupManager.Groups(context.Background(), &http.Request{})
	if err != nil {
		return err
	}
	informer := custom.Informers.Apiextensions().V1().CustomResourceDefinitions()
	f := &groupFollower{manager: front.DiscoveryGroupManager, lister: informer.Lister(), shown: map[string]bool{}}
	for _, g := range own {
		f.own = append(f.own, g.Name)
	}
	f.manager.AddGroup(groupOf(apiextensionsv1.GroupName, []string{apiextensionsv1.SchemeGroupVersion.Version}))
	_, err = informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { f.sync() },
		UpdateFunc: func(any, any) { f.sync() },
		DeleteFunc: func(any) { f.sync() },
	})
	return err
}

func (f *groupFollower) sync() {
	crds, err := f.lister.List(labels.Everything())
	if err != nil {
		utilruntime.HandleError(fmt.Errorf("groups of custom resources: %w", err))
		return
	}
	served := groupsOf(crds, f.own)
	for name, g := range served {
		f.manager.AddGroup(g)
		f.shown[name] = true
	}
	for name := range f.shown {
		if _, ok := served[name]; !ok {
			f.manager.RemoveGroup(name)
			delete(f.shown, name)
		}
	}
}

// groupsOf returns the API groups of established definitions, by name, without own.
func groupsOf(crds []*apiextensionsv1.CustomResourceDefinition, own []string) map[string]metav1.APIGroup {
	versions := map[string][]string{}
	for _, crd := range crds {
		if !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) || slices.Contains(own, crd.Spec.Group) {
			continue
		}
		for _, v := range crd.Spec.Versions {
			if v.Served && !slices.Contains(versions[crd.Spec.Group], v.Name) {
				versions[crd.Spec.Group] = append(versions[crd.Spec.Group], v.Name)
			}
		}
	}
	out := map[string]metav1.APIGroup{}
	for group, names := range versions {
		out[group] = groupOf(group, names)
	}
	return out
}

// groupOf returns a group with its versions, the preferred one first.
func groupOf(group string, versions []string) metav1.APIGroup {
	slices.SortFunc(versions, func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
	g := metav1.APIGroup{Name: group}
	for _, v := range versions {
		gv := schema.GroupVersion{Group: group, Version: v}
		g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: v})
	}
	g.PreferredVersion = g.Versions[0]
	return g
}
