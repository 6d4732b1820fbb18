package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
)

// Class is the set of permissions in the roles view, edit and admin for a resource. Each role
// includes the ones before it.
type Class string

const (
	// ReadWrite resources are owned by users of a namespace: view reads them, and edit changes
	// them.
	ReadWrite Class = "ReadWrite"
	// ReadOnly resources are visible to users of a namespace, and written by the system or its
	// administrator: view reads them.
	ReadOnly Class = "ReadOnly"
	// Confidential resources grant their readers further permissions: edit reads and changes them.
	Confidential Class = "Confidential"
	// Requested is a subresource that is created and never read: edit creates it.
	Requested Class = "Requested"
	// Administrative resources decide about permissions in a namespace: admin reads and changes
	// them.
	Administrative Class = "Administrative"
	// Cluster is the matter of parts of the system and of cluster-admin: the three roles do not allow
	// anything on it.
	Cluster Class = "Cluster"
)

// Resource is a resource or a subresource, spelled as rules do, and its class.
type Resource struct {
	Group, Name string
	Class       Class
}

// grants are the verbs that a role allows on each class.
type grants map[Class]string

// rulesFor returns a rule for each group and list of verbs, in the order of the resources.
func (g grants) rulesFor(resources []Resource) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	at := map[[2]string]int{}
	for _, r := range resources {
		verbs := g[r.Class]
		if verbs == "" {
			continue
		}
		key := [2]string{r.Group, verbs}
		i, ok := at[key]
		if !ok {
			i = len(rules)
			at[key] = i
			rules = append(rules, allow(verbs, r.Group, ""))
		}
		rules[i].Resources = append(rules[i].Resources, r.Name)
	}
	return rules
}
