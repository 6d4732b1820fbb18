// Package openapi makes the OpenAPI definitions of the served kinds at run time, from their Go types, where upstream
// generates 30,000 lines of them.
//
// # What it decides
//
// The schema of each struct that a served kind reaches, under the model name that the type gives itself
// (OpenAPIModelName; a delta type stands in for the upstream type of the same name). It comes from three sources:
//
//   - Reflection: names, types, JSON and patch tags, defaults that follow from the type.
//   - facts.txt: what upstream says in comment markers (list types and keys, enums, unions, further defaults, presence).
//     It is generated from upstream's source by internal/facts and holds no sentence of it. own.txt says the same of the
//     types that upstream does not have, by hand.
//   - Descriptions: the SwaggerDoc methods that upstream ships with its types, and descriptions.go for what is ours.
//
// # Invariants
//
//   - Without descriptions, the definition of a type with no added field is what upstream's generator makes of it. The
//     test compares with checksums of upstream's definitions (testdata/upstream.sums).
//   - Every JSON field of a definition's type is a property, exactly once.
//   - Each reference has a definition.
//
// # What it never does
//
// It does not publish a document (k8s.io/kube-openapi does), reads no source code at run time, and knows nothing of
// routes.
package openapi

//go:generate go run ./internal/facts -out facts.txt k8s.io/api/admissionregistration/v1 k8s.io/api/apps/v1 k8s.io/api/authentication/v1 k8s.io/api/authorization/v1 k8s.io/api/autoscaling/v1 k8s.io/api/batch/v1 k8s.io/api/coordination/v1 k8s.io/api/core/v1 k8s.io/api/events/v1 k8s.io/api/policy/v1 k8s.io/api/rbac/v1 k8s.io/api/resource/v1 k8s.io/api/resource/v1alpha3 k8s.io/api/resource/v1beta1 k8s.io/api/scheduling/v1 k8s.io/api/scheduling/v1alpha3 k8s.io/api/scheduling/v1beta1 k8s.io/apimachinery/pkg/api/resource k8s.io/apimachinery/pkg/apis/meta/v1 k8s.io/apimachinery/pkg/runtime k8s.io/apimachinery/pkg/util/intstr k8s.io/apimachinery/pkg/version
