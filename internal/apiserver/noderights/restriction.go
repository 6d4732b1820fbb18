package noderights

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apiserver/pkg/admission"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/pki"
)

// Restrict rejects writes of a node to objects that are not its own. Users that are not nodes are
// not restricted.
func (az *Authorizer) Restrict(ctx context.Context, a admission.Attributes) error {
	node, isNode := identity(a.GetUserInfo())
	if !isNode {
		return nil
	}
	if node == "" {
		return admission.NewForbidden(a, fmt.Errorf("user %q is not the name of a node", a.GetUserInfo().GetName()))
	}
	why, err := restriction{az.Objects, node, az.Issuer}.check(ctx, a)
	if err == nil && why != "" {
		err = admission.NewForbidden(a, fmt.Errorf("node %q: %s", node, why))
	}
	return err
}

// restriction has the rules for one node. Its methods return the reason why a request is rejected,
// or "".
type restriction struct {
	objects Objects
	node    string
	issuer  string
}

// check applies the rule for the kind of the object.
func (r restriction) check(ctx context.Context, a admission.Attributes) (why string, err error) {
	switch gr := a.GetResource().GroupResource(); gr.Group + "/" + gr.Resource {
	case "/pods":
		why, err = r.pod(ctx, a)
	case "/nodes":
		why = r.ownNode(a)
	case "/persistentvolumeclaims":
		why = volumeClaim(a)
	case "/serviceaccounts":
		why, err = r.token(ctx, a)
	case "coordination.k8s.io/leases":
		if a.GetNamespace() != corev1.NamespaceNodeLease || nameOf(a) != r.node {
			why = "it may only write the lease with its own name in " + corev1.NamespaceNodeLease
		}
	case "storage.k8s.io/csinodes":
		if nameOf(a) != r.node {
			why = "it may only write the one with its own name"
		}
	case "resource.k8s.io/resourceslices":
		why = r.slice(a)
	case "certificates.k8s.io/certificatesigningrequests":
		why = r.certificate(a)
	}
	return why, err
}

// nameOf returns the name of the object of a request. A create request has it only in the object.
func nameOf(a admission.Attributes) string {
	if name := a.GetName(); name != "" || a.GetObject() == nil {
		return name
	}
	object, err := meta.Accessor(a.GetObject())
	if err != nil {
		return ""
	}
	return object.GetName()
}

func (r restriction) pod(ctx context.Context, a admission.Attributes) (string, error) {
	switch op := string(a.GetOperation()) + " " + a.GetSubresource(); op {
	case "CREATE ":
		pod, ok := a.GetObject().(*core.Pod)
		if !ok {
			return "it may only create pods", nil
		}
		return r.mirrorPod(ctx, pod)
	case "UPDATE status":
		return r.podStatus(a), nil
	case "DELETE ", "CREATE eviction":
		pod, ok, err := r.objects.Pod(ctx, a.GetNamespace(), nameOf(a))
		if err != nil || ok && pod.Spec.NodeName != r.node {
			return "it may only delete pods that are bound to itself", err
		}
		return "", nil // the storage rejects a pod that does not exist
	}
	return "it may not do that to a pod", nil
}

// mirrorPod allows a node to create a mirror pod, which represents a pod that it runs in any case
// and which refers to no other objects.
func (r restriction) mirrorPod(ctx context.Context, pod *core.Pod) (string, error) {
	if _, ok := pod.Annotations[corev1.MirrorPodAnnotationKey]; !ok {
		return "it may only create mirror pods, which have the annotation " + corev1.MirrorPodAnnotationKey, nil
	}
	if pod.Spec.NodeName != r.node {
		return "it may only create pods that are bound to itself", nil
	}
	if len(pod.OwnerReferences) != 1 {
		return "a mirror pod has its node as the only owner", nil
	}
	owner := pod.OwnerReferences[0]
	if owner.APIVersion != "v1" || owner.Kind != "Node" || owner.Name != r.node || owner.Controller == nil ||
		!*owner.Controller {
		return "a mirror pod has its node as its controller", nil
	}
	if owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion {
		return "a mirror pod must not block the deletion of its node", nil
	}
	node, ok, err := r.objects.Node(ctx, r.node)
	if err != nil || !ok || node.UID != owner.UID {
		return "the owner of a mirror pod must have the UID of the node", err
	}
	refs := referencesOf(pod)
	if len(refs.secrets)+len(
		refs.configMaps,
	)+len(refs.volumeClaims)+len(
		refs.resourceClaims,
	)+len(refs.accounts)+len(
		pod.Spec.ResourceClaims,
	) > 0 {
		return "a mirror pod must not refer to secrets, config maps, claims or service accounts", nil
	}
	return "", nil
}

func (r restriction) podStatus(a admission.Attributes) string {
	old, ok := a.GetOldObject().(*core.Pod)
	pod, also := a.GetObject().(*core.Pod)
	switch {
	case !ok || !also || old.Spec.NodeName != r.node:
		return "it may only write the status of pods that are bound to itself"
	case !maps.Equal(old.Labels, pod.Labels):
		return "it may not change labels of pods"
	case !apiequality.Semantic.DeepEqual(old.Status.ResourceClaimStatuses, pod.Status.ResourceClaimStatuses),
		!apiequality.Semantic.DeepEqual(old.Status.ExtendedResourceClaimStatus, pod.Status.ExtendedResourceClaimStatus),
		!apiequality.Semantic.DeepEqual(old.Status.NodeAllocatableResourceClaimStatuses,
			pod.Status.NodeAllocatableResourceClaimStatuses):
		return "it may not change the claims of pods"
	}
	return ""
}

// certificate allows a node to request certificates of kubelets with its own name only.
func (r restriction) certificate(a admission.Attributes) string {
	request, ok := a.GetObject().(*certificatesv1.CertificateSigningRequest)
	if !ok || a.GetOperation() != admission.Create || request.Spec.SignerName != certificatesv1.KubeletServingSignerName &&
		request.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName {
		return ""
	}
	parsed, err := pki.ParseRequest(request.Spec.Request)
	if err != nil {
		return "unable to parse csr: " + err.Error()
	}
	if name := "system:node:" + r.node; parsed.Subject.CommonName != name {
		return "can only create a node CSR with CN=" + name
	}
	return ""
}

func (r restriction) ownNode(a admission.Attributes) string {
	if nameOf(a) != r.node {
		return "it may only write its own Node"
	}
	node, ok := a.GetObject().(*corev1.Node)
	if !ok {
		return "" // no rule allows the node to delete it
	}
	old, known := a.GetOldObject().(*corev1.Node)
	if !known {
		old = &corev1.Node{}
	}
	source := node.Spec.ConfigSource //nolint:staticcheck // still in the API
	if source != nil &&
		!apiequality.Semantic.DeepEqual(source, old.Spec.ConfigSource) { //nolint:staticcheck // as above
		return "it may not set spec.configSource"
	}
	if known && !apiequality.Semantic.DeepEqual(node.Spec.Taints, old.Spec.Taints) {
		return "it may not change its taints"
	}
	if known && !apiequality.Semantic.DeepEqual(node.OwnerReferences, old.OwnerReferences) {
		return "it may not change its owners"
	}
	if labels := forbiddenLabels(node.Labels, old.Labels); len(labels) > 0 {
		return "it may not set the labels " + strings.Join(labels, ", ")
	}
	return ""
}

// forbiddenLabels returns the changed labels that a node must not set, because they attract pods.
func forbiddenLabels(labels, old map[string]string) []string {
	changed := map[string]bool{}
	for key, value := range labels {
		if had, ok := old[key]; !ok || had != value {
			changed[key] = true
		}
	}
	for key := range old {
		if _, ok := labels[key]; !ok {
			changed[key] = true
		}
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(changed)) {
		domain, _, qualified := strings.Cut(key, "/")
		if !qualified {
			continue
		}
		within := func(of string) bool { return domain == of || strings.HasSuffix(domain, "."+of) }
		if within(corev1.LabelNamespaceNodeRestriction) ||
			(within("kubernetes.io") || within("k8s.io")) && !kubeletLabel(key, within) {
			out = append(out, key)
		}
	}
	return out
}

// kubeletLabel reports whether kubelets may set a label of Kubernetes.
func kubeletLabel(key string, within func(string) bool) bool {
	if within("kubelet.kubernetes.io") || within("node.kubernetes.io") {
		return true
	}
	return slices.Contains([]string{
		corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone,
		corev1.LabelFailureDomainBetaRegion, corev1.LabelInstanceType, corev1.LabelInstanceTypeStable, corev1.LabelOSStable,
		corev1.LabelArchStable, "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
	}, key)
}

// volumeClaim allows a node to report the new size of a volume that it has expanded, and nothing
// else.
func volumeClaim(a admission.Attributes) string {
	old, ok := a.GetOldObject().(*corev1.PersistentVolumeClaim)
	claim, also := a.GetObject().(*corev1.PersistentVolumeClaim)
	if !ok || !also || a.GetSubresource() != "status" {
		return "it may only write the status of a claim"
	}
	old, claim = old.DeepCopy(), claim.DeepCopy()
	for _, c := range []*corev1.PersistentVolumeClaim{old, claim} {
		c.ResourceVersion, c.ManagedFields = "", nil
		c.Status.Capacity, c.Status.Conditions = nil, nil
		c.Status.AllocatedResources, c.Status.AllocatedResourceStatuses = nil, nil
	}
	if !apiequality.Semantic.DeepEqual(old, claim) {
		return "it may only change the sizes and conditions of a claim"
	}
	return ""
}

// token allows a node to request tokens for the pods that run on it, for the audiences that their
// volumes name.
func (r restriction) token(ctx context.Context, a admission.Attributes) (string, error) {
	request, ok := a.GetObject().(*authenticationv1.TokenRequest)
	if !ok || a.GetSubresource() != "token" {
		return "it may only request tokens", nil
	}
	ref := request.Spec.BoundObjectRef
	if ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" || ref.Name == "" || ref.UID == "" {
		return "it may only request tokens that are bound to a pod, by name and UID", nil
	}
	pod, ok, err := r.objects.Pod(ctx, a.GetNamespace(), ref.Name)
	switch {
	case err != nil:
		return "", err
	case !ok || pod.UID != ref.UID || pod.Spec.NodeName != r.node:
		return "it may only request tokens for pods that are bound to itself", nil
	}
	allowed := append(audiences(pod), r.issuer, "")
	for _, audience := range request.Spec.Audiences {
		if !slices.Contains(allowed, audience) {
			return fmt.Sprintf("no volume of the pod asks for a token for audience %q", audience), nil
		}
	}
	return "", nil
}

func (r restriction) slice(a admission.Attributes) string {
	own := func(s *resourcev1.ResourceSlice) bool { return s.Spec.NodeName != nil && *s.Spec.NodeName == r.node }
	slice, ok := a.GetObject().(*resourcev1.ResourceSlice)
	if ok && !own(slice) {
		return "it may only write slices with its own spec.nodeName"
	}
	if old, ok := a.GetOldObject().(*resourcev1.ResourceSlice); ok && !own(old) {
		return "it may only write slices with its own spec.nodeName"
	}
	return ""
}
