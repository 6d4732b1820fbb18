// Package openapi creates the OpenAPI definitions of the served kinds at run time, from their Go
// types. Upstream generates 30,000 lines for them.
//
// # What it decides
//
// The schema of each struct that a served kind uses, under the type's model name (OpenAPIModelName;
// a delta type has that of the upstream type which it replaces). It comes from three sources:
//
//   - Reflection: names, types, JSON and patch tags, and defaults that follow from the type.
//   - facts.txt: the content of upstream's comment markers (list types and keys, enums, unions,
//     other defaults, presence). It is generated from upstream's source by internal/facts and
//     contains no sentence of it. own.txt has the same for the types that upstream does not have,
//     written by hand.
//   - Descriptions: the SwaggerDoc methods of upstream's types, and descriptions.go for allot's
//     own.
//
// # Invariants
//
//   - Without descriptions, the definition of a type without added fields equals that of upstream's
//     generator. The test compares with checksums of upstream's definitions
//     (testdata/upstream.sums).
//   - Every JSON field of a type is a property of its definition, exactly once.
//   - Each reference has a definition.
//
// # What it never does
//
// It does not publish a document (k8s.io/kube-openapi does), reads no source code at run time, and
// does not depend on routes.
package openapi

//go:generate go run ./internal/facts -out facts.txt k8s.io/api/admissionregistration/v1 k8s.io/api/apps/v1 k8s.io/api/authentication/v1 k8s.io/api/authorization/v1 k8s.io/api/autoscaling/v1 k8s.io/api/autoscaling/v2 k8s.io/api/batch/v1 k8s.io/api/certificates/v1 k8s.io/api/coordination/v1 k8s.io/api/core/v1 k8s.io/api/discovery/v1 k8s.io/api/events/v1 k8s.io/api/networking/v1 k8s.io/api/node/v1 k8s.io/api/policy/v1 k8s.io/api/rbac/v1 k8s.io/api/resource/v1 k8s.io/api/resource/v1alpha3 k8s.io/api/resource/v1beta1 k8s.io/api/resource/v1beta2 k8s.io/api/scheduling/v1 k8s.io/api/scheduling/v1alpha3 k8s.io/api/scheduling/v1beta1 k8s.io/api/storage/v1 k8s.io/apimachinery/pkg/api/resource k8s.io/apimachinery/pkg/apis/meta/v1 k8s.io/apimachinery/pkg/runtime k8s.io/apimachinery/pkg/util/intstr k8s.io/apimachinery/pkg/version
