package noderights

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	core "github.com/allot-dev/allot/api/core/v1"
)

// Objects reads the objects by which the rights of a node are decided. The last result of a get is
// false if the object does not exist.
type Objects interface {
	// PodsOn returns the pods that are bound to a node.
	PodsOn(ctx context.Context, node string) ([]*core.Pod, error)
	Pod(ctx context.Context, namespace, name string) (*core.Pod, bool, error)
	Node(ctx context.Context, name string) (*corev1.Node, bool, error)
	VolumeClaim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, bool, error)
	ResourceSlice(ctx context.Context, name string) (*resourcev1.ResourceSlice, bool, error)
}

// Authorizer authorizes the requests of nodes.
type Authorizer struct {
	// Rules reports whether a request is allowed to every node.
	Rules func(authorizer.Attributes) bool
	// Issuer is the audience of tokens for this API.
	Issuer string
	// Objects is set before the first request is served.
	Objects Objects
}

// Authorize allows a node to access its own objects. It has no opinion about other requests.
func (az *Authorizer) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	node, isNode := identity(a.GetUser())
	switch {
	case !isNode:
		return authorizer.DecisionNoOpinion, "", nil
	case node == "":
		return authorizer.DecisionNoOpinion, fmt.Sprintf("user %q is not the name of a node", a.GetUser().GetName()), nil
	}
	allowed, reason, err := az.decide(ctx, node, a)
	if err != nil {
		return authorizer.DecisionNoOpinion, "", err
	}
	if allowed {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, reason, nil
}

// decide reports whether a node may make a request, or returns the reason why not.
func (az *Authorizer) decide(ctx context.Context, node string, a authorizer.Attributes) (bool, string, error) {
	if !a.IsResourceRequest() {
		return az.Rules(a), "", nil
	}
	resource := a.GetAPIGroup() + "/" + a.GetResource()
	if of, ok := ofRelatedObjects()[resource]; ok {
		if !of.verbs.allow(a) {
			return false, of.refusal, nil
		}
		return az.related(ctx, node, a)
	}
	switch resource {
	case "coordination.k8s.io/leases":
		if a.GetNamespace() != corev1.NamespaceNodeLease {
			return false, "a node may only use its lease in " + corev1.NamespaceNodeLease, nil
		}
		return ownName(node, a, verbs{"": {"create"}}, verbs{"": {"get", "update", "patch", "delete"}})
	case "storage.k8s.io/csinodes":
		return ownName(node, a, verbs{"": {"create"}}, verbs{"": {"get", "update", "patch", "delete"}})
	case "/nodes":
		// Restrict checks that the Node is the node's own, when the object is known.
		return ownName(node, a, verbs{"": {"create", "update", "patch"}, "status": {"update", "patch"}},
			verbs{"": {"get", "list", "watch"}})
	case "/pods":
		return az.pods(ctx, node, a)
	case "resource.k8s.io/resourceslices":
		return az.slices(ctx, node, a)
	}
	return az.Rules(a), "", nil
}

// verbs are what may be done to objects of a resource, by subresource; "" is the object itself.
type verbs map[string][]string

func (v verbs) allow(a authorizer.Attributes) bool {
	return slices.Contains(v[a.GetSubresource()], a.GetVerb())
}

// A relation says what a node may do to the objects that pods on it refer to, and the reason for
// refusing anything else.
type relation struct {
	verbs   verbs
	refusal string
}

// ofRelatedObjects returns the relations by group and resource.
func ofRelatedObjects() map[string]relation {
	reads := relation{verbs{"": {"get", "list", "watch"}}, "a node may only read it"}
	gets := relation{verbs{"": {"get"}}, "a node may only get it"}
	return map[string]relation{
		"/secrets":    reads,
		"/configmaps": reads,
		"/persistentvolumeclaims": {
			verbs{"": {"get"}, "status": {"update", "patch"}}, "a node may only get it, and write its status",
		},
		"/persistentvolumes":             gets,
		"resource.k8s.io/resourceclaims": gets,
		"/serviceaccounts": {
			verbs{"": {"get"}, "token": {"create"}}, "a node may only get it, and request tokens",
		},
	}
}

// ownName allows a request if it is allowed for any name, or for named objects and the name is the
// node's.
func ownName(node string, a authorizer.Attributes, anyName, named verbs) (bool, string, error) {
	if anyName.allow(a) || named.allow(a) && a.GetName() == node {
		return true, "", nil
	}
	return false, "a node may only use the one with its own name", nil
}

func (az *Authorizer) pods(ctx context.Context, node string, a authorizer.Attributes) (bool, string, error) {
	switch a.GetSubresource() + " " + a.GetVerb() {
	case " create", " delete", "status update", "status patch", "eviction create":
		return true, "", nil // Restrict checks the node of the pod.
	case " list", " watch":
		if selects(a, "spec.nodeName", node) {
			return true, "", nil
		}
		fallthrough
	case " get":
		if a.GetName() == "" {
			return false, "a node may only list pods with the field selector spec.nodeName=" + node, nil
		}
		pod, ok, err := az.Objects.Pod(ctx, a.GetNamespace(), a.GetName())
		return ok && pod.Spec.NodeName == node, "the pod is not bound to the node", err
	}
	return false, "a node may not do that to pods", nil
}

func (az *Authorizer) slices(ctx context.Context, node string, a authorizer.Attributes) (bool, string, error) {
	switch a.GetSubresource() + " " + a.GetVerb() {
	case " create":
		return true, "", nil // Restrict checks the node of the slice.
	case " list", " watch", " deletecollection":
		return selects(a, resourcev1.ResourceSliceSelectorNodeName,
			node), "a node may only list slices with the field selector spec.nodeName=" + node, nil
	case " get", " update", " patch", " delete":
		slice, ok, err := az.Objects.ResourceSlice(ctx, a.GetName())
		return ok && slice.Spec.NodeName != nil && *slice.Spec.NodeName == node, "the slice is not one of the node", err
	}
	return false, "a node may not do that to slices", nil
}

// selects reports whether a request selects only objects with this value of a field.
func selects(a authorizer.Attributes, name, value string) bool {
	requirements, err := a.GetFieldSelector()
	if err != nil {
		return false
	}
	for _, r := range requirements {
		if r.Field == name && r.Operator == selection.Equals && r.Value == value {
			return true
		}
	}
	return false
}

// related reports whether a pod on the node refers to the object of a request.
func (az *Authorizer) related(ctx context.Context, node string, a authorizer.Attributes) (bool, string, error) {
	if a.GetName() == "" {
		return false, "a node may only use single objects of this kind", nil
	}
	pods, err := az.Objects.PodsOn(ctx, node)
	if err != nil {
		return false, "", err
	}
	for _, pod := range pods {
		ok, err := az.refers(ctx, pod, a)
		if ok || err != nil {
			return ok, "", err
		}
	}
	return false, fmt.Sprintf("no pod on node %s refers to it", node), nil
}

func (az *Authorizer) refers(ctx context.Context, pod *core.Pod, a authorizer.Attributes) (bool, error) {
	r := referencesOf(pod)
	if a.GetResource() == "persistentvolumes" {
		for _, name := range r.volumeClaims {
			claim, ok, err := az.Objects.VolumeClaim(ctx, pod.Namespace, name)
			if err != nil {
				return false, err
			}
			if ok && claim.Spec.VolumeName == a.GetName() {
				return true, nil
			}
		}
		return false, nil
	}
	if pod.Namespace != a.GetNamespace() {
		return false, nil
	}
	names := map[string][]string{
		"secrets": r.secrets, "configmaps": r.configMaps, "persistentvolumeclaims": r.volumeClaims,
		"resourceclaims": r.resourceClaims, "serviceaccounts": r.accounts,
	}[a.GetResource()]
	return slices.Contains(names, a.GetName()), nil
}
