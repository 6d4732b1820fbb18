// Package protobuf encodes and decodes API types of this repository as the protobuf that stock
// Kubernetes clients use.
//
// The types under api/ are upstream's with fields added. Upstream's codec is generated code on
// upstream's types, so that it cannot encode the added fields. This package walks the redeclared
// structs by reflection, using the same `protobuf:"bytes,1,opt,name=..."` tags as the generator,
// and passes every field whose type has generated code to that code. In a Pod that leaves three
// structs to walk.
//
// # What it decides
//
// Which types are walked: those declared under this repository's api/ tree. All others must have
// generated methods (Message), which are called.
//
// How a field without a protobuf tag is treated. It is omitted (metav1.TypeMeta, for example),
// unless it is an embedded struct, whose message is merged into that of the struct around it. So
//
//	type PodResourceClaim struct {
//		corev1.PodResourceClaim
//		PodGroupResourceClaim *string `protobuf:"bytes,100,opt,name=podGroupResourceClaim"`
//	}
//
// is upstream's bytes followed by field 100. Upstream's decoder skips number 100; this package's
// decoder passes the bytes to upstream's decoder and reads number 100 itself.
//
// # Invariants
//
//   - The encoding of an object without added fields equals that of upstream's generated code:
//     fields in ascending order of numbers, map keys sorted, zero scalars and empty structs written
//     unless they are pointers.
//   - Decoding never panics and allocates memory in proportion to its input, for any input.
//   - A type that cannot be encoded (a wrong tag, two fields with one number, a map without string
//     keys) is rejected by Check, and by every other call before it writes a byte.
//
// # What it never does
//
// It does not write the envelope of k8s.io/apimachinery's serializer, does not choose between
// encodings, and does not keep unknown fields, like upstream.
//
// # State
//
// The only package variable that changes is a cache from reflect.Type to its plan (a sync.Map). A
// plan is a function of the type and never changes, so that the cache affects only performance.
package protobuf
