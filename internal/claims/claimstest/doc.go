// Package claimstest is the verbs of scenarios about claims and PodGroups. Each line is an object, in
// the syntax of internal/testkit/line:
//
//	group pg claims=shared:template/one-gpu status=shared:pg-shared-abcde deleting
//	pod m-0 group=pg claims=shared:group/shared node=n1 phase=Running
//	claim c owner=group/pg entry=shared allocated finalizer reserved=group/pg,pod/m-0
//	tree t parent=root claims=shared:template/one-gpu
//	template one-gpu labels=a:b
//	clustertemplate one-gpu
//
// The UID of an object is its name with "-uid", unless uid= is set. A reference is kind/name or
// kind/name/uid. All objects are in namespace "default", unless ns= is set. A line replaces the
// object of the same kind and name.
package claimstest
