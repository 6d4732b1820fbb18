package templatesync

import (
	_ "embed" // rbac.yaml
	"strings"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
)

//go:embed config/rbac.yaml
var rbacManifest string

// Manifests returns the YAML that a cluster needs before the controller can run: the definition of
// the kind, and a service account with the required rights.
func Manifests() string {
	return strings.Join([]string{allotv1alpha1.CRD, RBAC()}, "---\n")
}

// RBAC returns the second part of Manifests.
func RBAC() string { return rbacManifest }
