package templatesync

import (
	_ "embed" // rbac.yaml
	"strings"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
)

//go:embed config/rbac.yaml
var rbacManifest string

// Manifests is what a cluster needs before the controller can run there, as YAML: the definition of the kind, and a service
// account that may do what the controller does.
func Manifests() string {
	return strings.Join([]string{allotv1alpha1.CRD, RBAC()}, "---\n")
}

// RBAC is the second part of Manifests.
func RBAC() string { return rbacManifest }
