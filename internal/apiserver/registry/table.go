package registry

import (
	"context"
	"net/http"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
	"github.com/allot-dev/allot/internal/features"
)

// entry is a kind of any type.
type entry interface {
	identity() names
	check() error
	served(on features.Set) bool
	resources() []rbac.Resource
	addDefaults(scheme *runtime.Scheme) error
	build(e env) (map[string]rest.Storage, *genericregistry.Store, error)
	rules(scheme *runtime.Scheme, on features.Set) Rules
}

// dependencies has the dependencies of entries.
type dependencies struct {
	lookup   *Lookup
	access   Access
	features features.Set
	alone    func() bool
	now      func() time.Time
	resource func(schema.GroupVersionKind) (schema.GroupVersionResource, error)
	// deviceRefused is called for each write that the guard of devices refuses; it may be nil
	deviceRefused func()
	// kubelets reaches the kubelets of real nodes; it may be nil.
	kubelets http.RoundTripper
	// allocator is nil where no objects are stored.
	allocator *serviceAllocator
	holds     *podHolds
}

// table returns all stored kinds. Kinds with further rules are in separate files.
func table(g dependencies) []entry {
	return append(slices.Concat(rbacKinds(g.access), webhookConfigurations(), networkingKinds(),
		storageKinds(), admissionPolicies(g)), []entry{
		namespaces(), nodes(g.now), pods(g), events(),
		&kind[corev1.ConfigMap, *corev1.ConfigMap]{
			names:    names{versions: v1, plural: "configmaps", singular: "configmap", short: []string{"cm"}},
			newList:  func() runtime.Object { return &corev1.ConfigMapList{} },
			defaults: noDefaults[*corev1.ConfigMap],
			printer:  printers.ConfigMap,
			class:    rbac.ReadWrite,

			validate:       validation.ValidateConfigMap,
			validateUpdate: validation.ValidateConfigMapUpdate,
		},
		&kind[corev1.Secret, *corev1.Secret]{
			names:         names{versions: v1, plural: "secrets", singular: "secret"},
			newList:       func() runtime.Object { return &corev1.SecretList{} },
			defaults:      defaults.Secret,
			printer:       printers.Secret,
			class:         rbac.Confidential,
			prepareUpdate: keepSecretType,
			fields:        secretFields,

			validate:       validation.ValidateSecret,
			validateUpdate: validation.ValidateSecretUpdate,
		},
		&kind[corev1.ServiceAccount, *corev1.ServiceAccount]{
			names:        names{versions: v1, plural: "serviceaccounts", singular: "serviceaccount", short: []string{"sa"}},
			newList:      func() runtime.Object { return &corev1.ServiceAccountList{} },
			defaults:     noDefaults[*corev1.ServiceAccount],
			printer:      printers.NameAndAge,
			class:        rbac.ReadWrite,
			subresources: map[string]rbac.Class{"token": rbac.Requested},

			prepareCreate: func(_ context.Context, a *corev1.ServiceAccount) { nameSecrets(a) },
			prepareUpdate: func(_ context.Context, a, _ *corev1.ServiceAccount) { nameSecrets(a) },

			validate:       validation.ValidateServiceAccount,
			validateUpdate: validation.ValidateServiceAccountUpdate,
			storages: func(*genericregistry.Store) map[string]rest.Storage {
				return map[string]rest.Storage{"token": &tokenRequests{lookup: g.lookup, tokens: g.access.Tokens}}
			},
		},
		&kind[coordinationv1.Lease, *coordinationv1.Lease]{
			names:          names{group: "coordination.k8s.io", versions: v1, plural: "leases", singular: "lease"},
			newList:        func() runtime.Object { return &coordinationv1.LeaseList{} },
			defaults:       noDefaults[*coordinationv1.Lease],
			printer:        printers.Lease,
			class:          rbac.Confidential,
			createOnUpdate: true,
			needsVersion:   true,

			validate:       validation.ValidateLease,
			validateUpdate: validation.ValidateLeaseUpdate,
		},
		deployments(), replicaSets(), statefulSets(), daemonSets(), controllerRevisions(), jobs(), cronJobs(),
		replicationControllers(), podTemplates(),
		persistentVolumeClaims(), persistentVolumes(g.now), services(g), ipAddresses(), endpoints(), endpointSlices(),
		limitRanges(), resourceQuotas(), podDisruptionBudgets(), runtimeClasses(),
		horizontalPodAutoscalers(), certificateSigningRequests(g.now),
		priorityClasses(), workloads(), podGroups(), compositePodGroups(),
		resourceClaims(g), resourceClaimTemplates(), clusterResourceClaimTemplates(), deviceClasses(), resourceSlices(g.now),
		deviceTaintRules(g.now), resourcePoolStatusRequests(),
	}...)
}

// v1 is the list of versions of most kinds.
var v1 = []string{"v1"}

// Resources returns the resources and subresources of all stored kinds with their classes.
func Resources() []rbac.Resource {
	var out []rbac.Resource
	for _, e := range table(dependencies{}) {
		out = append(out, e.resources()...)
	}
	return out
}

// StorageKeys returns the names of resources in the keys of their objects, where they are not the
// plurals.
func StorageKeys() map[schema.GroupResource]string {
	out := map[schema.GroupResource]string{}
	for _, e := range table(dependencies{}) {
		if n := e.identity(); n.key != "" {
			out[n.resource()] = n.key
		}
	}
	return out
}

// StoredVersions returns the versions in which objects are stored.
func StoredVersions() schema.GroupVersions {
	var out schema.GroupVersions
	for _, e := range table(dependencies{}) {
		n := e.identity()
		gv := schema.GroupVersion{Group: n.group, Version: n.versions[0]}
		if !slices.Contains(out, gv) {
			out = append(out, gv)
		}
	}
	return out
}

// AddToScheme adds the kinds that are served here and never stored, and the versions that are
// stored and never served.
func AddToScheme(scheme *runtime.Scheme) error {
	addStored(scheme)
	if err := addPodOptions(scheme); err != nil {
		return err
	}
	for _, g := range []struct {
		version schema.GroupVersion
		kinds   []runtime.Object
	}{
		{authenticationv1.SchemeGroupVersion, []runtime.Object{
			&authenticationv1.SelfSubjectReview{}, &authenticationv1.TokenRequest{}, &authenticationv1.TokenReview{},
		}},
		{authorizationv1.SchemeGroupVersion, accessReviewKinds()},
	} {
		scheme.AddKnownTypes(g.version, g.kinds...)
		scheme.AddKnownTypes(schema.GroupVersion{Group: g.version.Group, Version: runtime.APIVersionInternal}, g.kinds...)
		metav1.AddToGroupVersion(scheme, g.version)
		if err := scheme.SetVersionPriority(g.version); err != nil {
			return err
		}
	}
	return nil
}
