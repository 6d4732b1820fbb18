package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// claimStatusAccess rejects changes of a claim's status by users that may only write parts of it.
// Changing the allocation or the consumers requires resourceclaims/binding in all namespaces;
// changing device status requires resourceclaims/driver, with the driver as name, for the user's
// own node or for any.
func (a Access) claimStatusAccess(ctx context.Context, c, old *resource.ResourceClaim) field.ErrorList {
	if _, master := caller(ctx); master {
		return nil
	}
	request, err := filters.GetAuthorizerAttributes(ctx)
	if err != nil {
		return field.ErrorList{field.InternalError(field.NewPath("status"), err)}
	}
	return append(a.bindingAccess(ctx, request, c, old), a.driverAccess(ctx, request, c, old)...)
}

func (a Access) bindingAccess(
	ctx context.Context, request authorizer.Attributes, c, old *resource.ResourceClaim,
) field.ErrorList {
	if apiequality.Semantic.DeepEqual(c.Status.Allocation, old.Status.Allocation) &&
		apiequality.Semantic.DeepEqual(c.Status.ReservedFor, old.Status.ReservedFor) {
		return nil
	}
	return a.partAccess(ctx, field.NewPath("status", "allocation"), statusPart{
		Attributes: request, verbs: []string{request.GetVerb()}, subresource: resourcev1.SubresourceBinding,
	})
}

// driverAccess checks the permission for each driver with changed device status. Without an
// allocation, entries are removed by the server itself.
func (a Access) driverAccess(
	ctx context.Context, request authorizer.Attributes, c, old *resource.ResourceClaim,
) field.ErrorList {
	if c.Status.Allocation == nil {
		return nil
	}
	verbs := []string{resourcev1.VerbPrefixArbitraryNode + request.GetVerb()}
	if node := allocatedNode(c.Status.Allocation); node != "" && node == accountNode(request.GetUser()) {
		verbs = append(verbs, resourcev1.VerbPrefixAssociatedNode+request.GetVerb())
	}
	var errs field.ErrorList
	for _, driver := range changedDrivers(c.Status.Devices, old.Status.Devices) {
		errs = append(errs, a.partAccess(ctx, field.NewPath("status", "devices"), statusPart{
			Attributes: request, verbs: verbs, subresource: resourcev1.SubresourceDriver, namespace: request.GetNamespace(),
			name: driver,
		})...)
	}
	return errs
}

// statusPart is a permission to write a part of the status, as if the part were a subresource. Any
// of the verbs is sufficient.
type statusPart struct {
	authorizer.Attributes
	verbs                        []string
	subresource, namespace, name string
}

// attributes returns the request for one of the verbs.
func (p statusPart) attributes(verb string) authorizer.Attributes {
	return authorizer.AttributesRecord{
		User: p.GetUser(), Verb: verb, Namespace: p.namespace, APIGroup: p.GetAPIGroup(), APIVersion: p.GetAPIVersion(),
		Resource: p.GetResource(), Subresource: p.subresource, Name: p.name, ResourceRequest: true,
	}
}

func (a Access) partAccess(ctx context.Context, path *field.Path, part statusPart) field.ErrorList {
	for _, verb := range part.verbs {
		if decision, _, _ := a.Authorizer.Authorize(ctx, part.attributes(verb)); decision == authorizer.DecisionAllow {
			return nil
		}
	}
	what := part.GetResource() + "/" + part.subresource
	if part.name != "" {
		what += fmt.Sprintf(" named %q", part.name)
	}
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf("user %q needs the verb %s on %s to change this",
		part.GetUser().GetName(), part.verbs[0], what))}
}

// changedDrivers returns the drivers whose entries differ, sorted by name.
func changedDrivers(now, before []resourcev1.AllocatedDeviceStatus) []string {
	changed := map[string]bool{}
	had := map[deviceID]*resourcev1.AllocatedDeviceStatus{}
	for i := range before {
		had[statusID(&before[i])] = &before[i]
	}
	for i := range now {
		id := statusID(&now[i])
		if was, ok := had[id]; !ok || !apiequality.Semantic.DeepEqual(was, &now[i]) {
			changed[id.driver] = true
		}
		delete(had, id)
	}
	for id := range had {
		changed[id.driver] = true
	}
	return slices.Sorted(maps.Keys(changed))
}

// allocatedNode returns the node of an allocation with node-local devices, which is in its
// selector.
func allocatedNode(a *resource.AllocationResult) string {
	if a.NodeSelector == nil || len(a.NodeSelector.NodeSelectorTerms) != 1 {
		return ""
	}
	term := &a.NodeSelector.NodeSelectorTerms[0]
	if len(term.MatchExpressions) > 0 || len(term.MatchFields) != 1 {
		return ""
	}
	f := &term.MatchFields[0]
	if f.Key != "metadata.name" || f.Operator != corev1.NodeSelectorOpIn || len(f.Values) != 1 {
		return ""
	}
	return f.Values[0]
}

// accountNode returns the node of the pod to which a service account token is bound.
func accountNode(who user.Info) string {
	if _, _, err := serviceaccount.SplitUsername(who.GetName()); err != nil {
		return ""
	}
	if nodes := who.GetExtra()[serviceaccount.NodeNameKey]; len(nodes) == 1 {
		return nodes[0]
	}
	return ""
}
