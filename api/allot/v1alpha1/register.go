package v1alpha1

import (
	_ "embed" // crd.yaml

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the group of allot's own kinds.
const GroupName = "allot.dev"

// SchemeGroupVersion is the group version that this package implements.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

// ClusterResourceClaimTemplates is the resource of ClusterResourceClaimTemplate.
var ClusterResourceClaimTemplates = SchemeGroupVersion.WithResource("clusterresourceclaimtemplates")

// KindClusterResourceClaimTemplate is the kind of ClusterResourceClaimTemplate.
const KindClusterResourceClaimTemplate = "ClusterResourceClaimTemplate"

// CRD is the CustomResourceDefinition of ClusterResourceClaimTemplate, as YAML.
//
//go:embed crd.yaml
var CRD string

// AddToScheme adds the kinds to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	scheme.AddKnownTypes(SchemeGroupVersion, &ClusterResourceClaimTemplate{}, &ClusterResourceClaimTemplateList{})
	return nil
}
