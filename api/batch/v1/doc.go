// Package v1 has the Job and the CronJob of batch/v1, whose pod templates have the fields that are
// added to core/v1. Their statuses and all other types are upstream's.
//
// +k8s:deepcopy-gen=package
package v1

//go:generate go run ../../internal/redeclare -from k8s.io/api/batch/v1 -import core=github.com/allot-dev/allot/api/core/v1 JobSpec:Template=core.PodTemplateSpec JobTemplateSpec CronJobSpec
//go:generate go run ../../internal/wire -model io.k8s.api.batch.v1 -kinds Job,JobList,CronJob,CronJobList -structs JobSpec,JobTemplateSpec,CronJobSpec
//go:generate go tool deepcopy-gen --output-file zz_generated.deepcopy.go .
