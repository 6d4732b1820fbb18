// Package openapi has the test that the checksums in api/openapi/testdata are those of the
// definitions that Kubernetes 1.37 generates. The main module cannot import them.
package openapi
