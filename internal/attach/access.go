package attach

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// parallelReviews is the number of concurrent access reviews.
const parallelReviews = 8

// Reviewer checks whether this process has a permission.
type Reviewer interface {
	Create(ctx context.Context, review *authorizationv1.SelfSubjectAccessReview,
		opts metav1.CreateOptions) (*authorizationv1.SelfSubjectAccessReview, error)
}

// Missing returns the permissions of the rules that the server does not grant, as sorted
// descriptions. in is the namespace where they are needed; "" means all namespaces.
func Missing(ctx context.Context, server Reviewer, in string, rules []rbacv1.PolicyRule) ([]string, error) {
	questions := singleRules(in, rules)
	refused := make([]bool, len(questions))
	asking, ctx := errgroup.WithContext(ctx)
	asking.SetLimit(parallelReviews)
	for i := range questions {
		asking.Go(func() error {
			review := &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &questions[i]},
			}
			answer, err := server.Create(ctx, review, metav1.CreateOptions{})
			if err != nil {
				return fmt.Errorf("ask whether this process may %s: %w", describeRequest(&questions[i]), err)
			}
			refused[i] = !answer.Status.Allowed
			return nil
		})
	}
	if err := asking.Wait(); err != nil {
		return nil, err
	}
	var missing []string
	for i := range questions {
		if refused[i] {
			missing = append(missing, describeRequest(&questions[i]))
		}
	}
	slices.Sort(missing)
	return missing, nil
}

// singleRules splits rules into single permissions without duplicates.
func singleRules(in string, rules []rbacv1.PolicyRule) []authorizationv1.ResourceAttributes {
	var out []authorizationv1.ResourceAttributes
	seen := map[string]bool{}
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						resource, subresource, _ := strings.Cut(resource, "/")
						q := authorizationv1.ResourceAttributes{
							Namespace: in, Verb: verb, Group: group, Version: "*", Resource: resource, Subresource: subresource, Name: name,
						}
						if !seen[describeRequest(&q)] {
							seen[describeRequest(&q)] = true
							out = append(out, q)
						}
					}
				}
			}
		}
	}
	return out
}

// describeRequest describes a permission in the form of a role's rule.
func describeRequest(q *authorizationv1.ResourceAttributes) string {
	text := q.Verb + " " + q.Resource
	if q.Subresource != "" {
		text += "/" + q.Subresource
	}
	if q.Group != "" {
		text += " of " + q.Group
	}
	if q.Name != "" {
		text += " named " + q.Name
	}
	if q.Namespace != "" {
		text += " in namespace " + q.Namespace
	}
	return text
}
