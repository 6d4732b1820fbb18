package attach

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// optionalKind is a kind that improves placement but is not required.
type optionalKind struct {
	kind      string // name in client.Informers
	rule      rbacv1.PolicyRule
	read      *bool  // set if the kind is read
	dependent string // facts that are unknown without it
}

func (s *Survey) optional() []optionalKind {
	return []optionalKind{
		{
			"csinodes",
			allow("list watch", storagev1.GroupName, "csinodes"),
			&s.CSINodes,
			"how many volumes can be attached to a node",
		},
		{"services", allow("list watch", "", "services"), &s.Services, "which pods serve together"},
	}
}

// Narrow removes the optional kinds that this process may not read.
func (s *Survey) Narrow(ctx context.Context, server Reviewer) error {
	for _, o := range s.optional() {
		if !*o.read {
			continue
		}
		missing, err := Missing(ctx, server, "", []rbacv1.PolicyRule{o.rule})
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			*o.read = false
			s.Refused = append(s.Refused, o.kind)
		}
	}
	return nil
}

// optionalRules returns the permissions to read optional kinds.
func optionalRules() []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, o := range new(Survey).optional() {
		rules = append(rules, o.rule)
	}
	return rules
}
