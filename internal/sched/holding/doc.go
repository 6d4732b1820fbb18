// Package holding decides which devices a unit that waits has without using them: claims to
// deallocate, so that the unit or others can have the devices, and the members of a gang to evict,
// so that the whole gang can be placed elsewhere (R17, P2).
//
// A group keeps its devices for the pods that replace the old ones (F09), but not devices with
// which it cannot be placed any more. Nothing is freed while a pod that uses the claim is on a
// node.
//
// The package reads the State and changes nothing.
package holding
