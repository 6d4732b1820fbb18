// Package v1 has the workload kinds of apps/v1, whose pod templates have the fields that are added
// to core/v1. Statuses and all other types are upstream's.
//
// +k8s:deepcopy-gen=package
package v1

//go:generate go run ../../internal/redeclare -from k8s.io/api/apps/v1 -import core=github.com/allot-dev/allot/api/core/v1 DeploymentSpec:Template=core.PodTemplateSpec ReplicaSetSpec:Template=core.PodTemplateSpec StatefulSetSpec:Template=core.PodTemplateSpec DaemonSetSpec:Template=core.PodTemplateSpec
//go:generate go run ../../internal/wire -model io.k8s.api.apps.v1 -kinds Deployment,DeploymentList,ReplicaSet,ReplicaSetList,StatefulSet,StatefulSetList,DaemonSet,DaemonSetList -structs DeploymentSpec,ReplicaSetSpec,StatefulSetSpec,DaemonSetSpec
//go:generate go tool deepcopy-gen --output-file zz_generated.deepcopy.go .
