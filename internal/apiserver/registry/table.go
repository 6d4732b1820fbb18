package registry

import (
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// entry is a kind of any type.
type entry interface {
	identity() names
	check() error
	build(e env) (map[string]rest.Storage, *genericregistry.Store, error)
}

// table has all stored kinds. Kinds with rules of their own are in files of their own.
func table(l *Lookup) []entry {
	return []entry{
		namespaces(), nodes(), pods(l), events(),
		&kind[corev1.ConfigMap, *corev1.ConfigMap]{
			names:   names{versions: v1, plural: "configmaps", singular: "configmap", short: []string{"cm"}},
			newList: func() runtime.Object { return &corev1.ConfigMapList{} },

			validate:       validation.ValidateConfigMap,
			validateUpdate: validation.ValidateConfigMapUpdate,
		},
		&kind[corev1.Secret, *corev1.Secret]{
			names:         names{versions: v1, plural: "secrets", singular: "secret"},
			newList:       func() runtime.Object { return &corev1.SecretList{} },
			prepareUpdate: keepSecretType,
			fields:        secretFields,

			validate:       validation.ValidateSecret,
			validateUpdate: validation.ValidateSecretUpdate,
		},
		&kind[corev1.ServiceAccount, *corev1.ServiceAccount]{
			names:   names{versions: v1, plural: "serviceaccounts", singular: "serviceaccount", short: []string{"sa"}},
			newList: func() runtime.Object { return &corev1.ServiceAccountList{} },

			validate:       validation.ValidateServiceAccount,
			validateUpdate: validation.ValidateServiceAccountUpdate,
		},
		&kind[coordinationv1.Lease, *coordinationv1.Lease]{
			names:          names{group: "coordination.k8s.io", versions: v1, plural: "leases", singular: "lease"},
			newList:        func() runtime.Object { return &coordinationv1.LeaseList{} },
			createOnUpdate: true,
			needsVersion:   true,

			validate:       validation.ValidateLease,
			validateUpdate: validation.ValidateLeaseUpdate,
		},
		deployments(), replicaSets(), statefulSets(), daemonSets(), controllerRevisions(), jobs(),
		persistentVolumeClaims(), persistentVolumes(time.Now), services(), podDisruptionBudgets(),
		priorityClasses(), workloads(), podGroups(),
		resourceClaims(), resourceClaimTemplates(), clusterResourceClaimTemplates(), deviceClasses(), resourceSlices(),
		deviceTaintRules(time.Now),
	}
}

// v1 is the list of versions of most kinds.
var v1 = []string{"v1"}

// StoredVersions are the versions in which objects are stored.
func StoredVersions() schema.GroupVersions {
	var out schema.GroupVersions
	for _, e := range table(&Lookup{}) {
		n := e.identity()
		gv := schema.GroupVersion{Group: n.group, Version: n.versions[0]}
		if !slices.Contains(out, gv) {
			out = append(out, gv)
		}
	}
	return out
}

// AddToScheme adds the kinds that are served here and never stored.
func AddToScheme(scheme *runtime.Scheme) error {
	gv := authenticationv1.SchemeGroupVersion
	review := &authenticationv1.SelfSubjectReview{}
	scheme.AddKnownTypes(gv, review)
	scheme.AddKnownTypes(schema.GroupVersion{Group: gv.Group, Version: runtime.APIVersionInternal}, review)
	metav1.AddToGroupVersion(scheme, gv)
	return scheme.SetVersionPriority(gv)
}
