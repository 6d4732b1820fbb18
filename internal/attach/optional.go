package attach

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// optional is a kind that placement is better with, and possible without.
type optional struct {
	kind string // as client.Informers calls it
	rule rbacv1.PolicyRule
	read *bool  // whether it is read
	of   string // what is not known without it
}

func (s *Survey) optional() []optional {
	return []optional{
		{"csinodes", allow("list watch", storagev1.GroupName, "csinodes"), &s.CSINodes, "how many volumes can be attached to a node"},
		{"services", allow("list watch", "", "services"), &s.Services, "which pods serve together"},
	}
}

// Narrow takes off the kinds that can be done without and that this process may not read.
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

// optionalRules are the rights for kinds that are read where they can be.
func optionalRules() []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, o := range new(Survey).optional() {
		rules = append(rules, o.rule)
	}
	return rules
}
