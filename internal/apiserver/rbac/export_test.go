package rbac

// Exported for the tests of the roles, which read the descriptors of the kinds and so are in their
// own package.
var (
	AggregatedSystemRules = aggregatedSystemRules
	Attributes            = attributes
	Bind                  = clusterRoleBinding
)

// PartRoles returns the names of the roles of all parts.
func PartRoles() []string {
	var names []string
	for _, p := range parts() {
		names = append(names, p.role)
	}
	return names
}
