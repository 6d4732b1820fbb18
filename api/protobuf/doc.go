// Package protobuf encodes and decodes API types of this repository as the protobuf that stock Kubernetes clients speak.
//
// The types under api/ are upstream's with fields added. Upstream's codec is generated code on upstream's types, so it
// cannot carry the added fields. This package walks the redeclared structs by reflection, driven by the same
// `protobuf:"bytes,1,opt,name=..."` tags the generator reads, and hands every field whose type upstream has generated
// code for to that code. In a Pod that leaves three structs to walk.
//
// # What it decides
//
// Which types are walked: those declared under this repository's api/ tree. All others must bring generated methods
// (Message) and are called.
//
// What becomes of a field without a protobuf tag. It is left out (metav1.TypeMeta, for one), unless it is an embedded
// struct, whose message is merged into that of the struct around it. So
//
//	type PodResourceClaim struct {
//		corev1.PodResourceClaim
//		PodGroupResourceClaim *string `protobuf:"bytes,100,opt,name=podGroupResourceClaim"`
//	}
//
// is upstream's bytes followed by field 100. Upstream's decoder steps over number 100; this package's decoder gives the
// bytes to upstream's decoder and reads number 100 itself.
//
// # Invariants
//
//   - An object with no added field set encodes to the very bytes of upstream's generated code: fields ascending by
//     number, map keys sorted, zero scalars and empty structs written unless they are pointers.
//   - Decoding never panics and allocates in proportion to its input, whatever the input.
//   - A type that cannot be encoded (a wrong tag, two fields of one number, a map without string keys) is refused by
//     Check, and by every other call before it writes a byte.
//
// # What it never does
//
// It does not write the envelope of k8s.io/apimachinery's serializer, does not choose between encodings, and keeps no
// unknown fields: what a decoder does not know is dropped, as upstream does.
//
// # State
//
// The only package variable that changes is a cache from reflect.Type to its plan (a sync.Map). A plan is a function of
// the type alone and never changes, so the cache shows in nothing but time.
package protobuf
