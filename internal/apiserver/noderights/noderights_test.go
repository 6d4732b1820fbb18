package noderights

import (
	"bufio"
	"context"
	"os"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
)

// world has node a with pod ns/p, which refers to one object of each kind, and node b with
// ns/other.
type world struct{}

func (world) pods() []*core.Pod {
	p := &core.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "p-uid"}}
	p.Spec.NodeName, p.Spec.ServiceAccountName = "a", "account"
	p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
	p.Spec.Containers = []corev1.Container{{}}
	p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "env"}}},
	}
	volume := func(s corev1.VolumeSource) corev1.Volume { return corev1.Volume{Name: "v", VolumeSource: s} }
	p.Spec.Volumes = []corev1.Volume{
		volume(
			corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "map"}},
			},
		),
		volume(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "disk"}}),
		volume(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}),
		volume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "vault"}},
			{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "projected"}}},
		}}}),
	}
	p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "c", ResourceClaimName: ptr.To("made")}}
	other := &core.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "other", UID: "other-uid"}}
	other.Spec.NodeName = "b"
	return []*core.Pod{p, other}
}

func (w world) PodsOn(_ context.Context, node string) ([]*core.Pod, error) {
	var out []*core.Pod
	for _, p := range w.pods() {
		if p.Spec.NodeName == node {
			out = append(out, p)
		}
	}
	return out, nil
}

func (w world) Pod(_ context.Context, namespace, name string) (*core.Pod, bool, error) {
	for _, p := range w.pods() {
		if p.Namespace == namespace && p.Name == name {
			return p, true, nil
		}
	}
	return nil, false, nil
}

func (world) Node(_ context.Context, name string) (*corev1.Node, bool, error) {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "node-uid"}}, true, nil
}

func (world) VolumeClaim(_ context.Context, _, name string) (*corev1.PersistentVolumeClaim, bool, error) {
	if name != "disk" {
		return nil, false, nil
	}
	return &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "volume"}}, true, nil
}

func (world) ResourceSlice(_ context.Context, name string) (*resourcev1.ResourceSlice, bool, error) {
	slice, ok := map[string]*resourcev1.ResourceSlice{"of-a": sliceOf("a"), "of-b": sliceOf("b"), "of-none": {}}[name]
	return slice, ok, nil
}

func sliceOf(node string) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "of-" + node},
		Spec:       resourcev1.ResourceSliceSpec{NodeName: &node},
	}
}

func newAuthorizer() *Authorizer {
	rules := func(a authorizer.Attributes) bool { return a.GetResource() == "events" && a.GetVerb() == "create" }
	return &Authorizer{Rules: rules, Objects: world{}, Issuer: "allot"}
}

func nodeUser(name string) user.Info {
	return &user.DefaultInfo{Name: name, Groups: []string{user.NodesGroup}}
}

// TestAuthorize reads testdata/requests. A line has: yes or no, the user, the verb,
// group/resource[/subresource] [namespace/]name [selector].
func TestAuthorize(t *testing.T) {
	file, err := os.Open("testdata/requests")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n := newAuthorizer()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		t.Run(lines.Text(), func(t *testing.T) {
			a := attributes(t, words[1:])
			decision, _, err := n.Authorize(context.Background(), a)
			if err != nil {
				t.Fatal(err)
			}
			want := authorizer.DecisionNoOpinion
			if words[0] == "yes" {
				want = authorizer.DecisionAllow
			}
			if decision != want {
				t.Errorf("got %v", decision)
			}
		})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

func attributes(t *testing.T, words []string) authorizer.AttributesRecord {
	t.Helper()
	a := authorizer.AttributesRecord{User: nodeUser(words[0]), Verb: words[1], ResourceRequest: true}
	if words[0] == "somebody" {
		a.User = &user.DefaultInfo{Name: "system:node:a"} // not in the group
	}
	group, resource, _ := strings.Cut(words[2], "/")
	a.APIGroup = group
	a.Resource, a.Subresource, _ = strings.Cut(resource, "/")
	for _, word := range words[3:] {
		if strings.Contains(word, "=") {
			selector, err := fields.ParseSelector(word)
			if err != nil {
				t.Fatal(err)
			}
			a.FieldSelectorRequirements = selector.Requirements()
			continue
		}
		namespace, name, namespaced := strings.Cut(word, "/")
		if !namespaced {
			namespace, name = "", word
		}
		a.Namespace, a.Name = namespace, name
	}
	return a
}

func TestRestrict(t *testing.T) {
	with := func(p *core.Pod, change func(*core.Pod)) *core.Pod { change(p); return p }
	pod := func(i int) *core.Pod { return world{}.pods()[i] }
	mirror := func(change func(*core.Pod)) *core.Pod {
		p := &core.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "m", Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "x"},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "Node", Name: "a", UID: "node-uid", Controller: ptr.To(true)},
			},
		}}
		p.Spec.NodeName = "a"
		change(p)
		return p
	}
	node := func(name string, change func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"node-restriction.kubernetes.io/x": "1"}},
		}
		change(n)
		return n
	}
	keep := func(*corev1.Node) {}
	lease := func(name string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-node-lease", Name: name}}
	}
	token := func(ref *authenticationv1.BoundObjectReference, audiences ...string) *authenticationv1.TokenRequest {
		return &authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: ref, Audiences: audiences},
		}
	}
	ofPod := func(name, uid string) *authenticationv1.BoundObjectReference {
		return &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: name, UID: types.UID(uid)}
	}
	disk := func(change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "disk"}}
		change(c)
		return c
	}
	same := func(*corev1.PersistentVolumeClaim) {}
	tests := []struct {
		what     string
		resource string // group/resource/subresource
		op       admission.Operation
		obj, old runtime.Object
		name     string
		want     string // part of the refusal; "" if the request is allowed
	}{
		{
			"its own Node",
			"/nodes",
			admission.Create,
			node("a", func(n *corev1.Node) { n.Labels = map[string]string{"kubernetes.io/hostname": "a", "team": "x"} }),
			nil,
			"",
			"",
		},
		{"another Node", "/nodes", admission.Create, node("b", keep), nil, "", "own Node"},
		{
			"a restricted label at first",
			"/nodes",
			admission.Create,
			node("a", keep),
			nil,
			"",
			"labels node-restriction.kubernetes.io/x",
		},
		{"the same labels", "/nodes", admission.Update, node("a", keep), node("a", keep), "a", ""},
		{
			"a restricted label removed",
			"/nodes",
			admission.Update,
			node("a", func(n *corev1.Node) { n.Labels = nil }),
			node("a", keep),
			"a",
			"labels",
		},
		{
			"a label of Kubernetes",
			"/nodes",
			admission.Update,
			node("a", func(n *corev1.Node) { n.Labels["foo.kubernetes.io/bar"] = "1" }),
			node("a", keep),
			"a",
			"foo.kubernetes.io/bar",
		},
		{
			"a label of kubelets",
			"/nodes",
			admission.Update,
			node("a", func(n *corev1.Node) { n.Labels["node.kubernetes.io/bar"] = "1" }),
			node("a", keep),
			"a",
			"",
		},
		{
			"a taint removed",
			"/nodes",
			admission.Update,
			node("a", keep),
			node("a", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "x"}} }),
			"a",
			"taints",
		},
		{
			"a taint at first",
			"/nodes",
			admission.Create,
			node("a", func(n *corev1.Node) { n.Labels, n.Spec.Taints = nil, []corev1.Taint{{Key: "x"}} }),
			nil,
			"",
			"",
		},
		{
			"an owner",
			"/nodes",
			admission.Update,
			node("a", func(n *corev1.Node) { n.OwnerReferences = []metav1.OwnerReference{{Name: "x"}} }),
			node("a", keep),
			"a",
			"owners",
		},
		{
			"its status",
			"/nodes/status",
			admission.Update,
			node("a", func(n *corev1.Node) { n.Status.Phase = "x" }),
			node("a", keep),
			"a",
			"",
		},
		{"status of another", "/nodes/status", admission.Update, node("b", keep), node("b", keep), "b", "own Node"},
		{
			"a taint by its status",
			"/nodes/status",
			admission.Update,
			node("a", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "x"}} }),
			node("a", keep),
			"a",
			"taints",
		},
		{"deletes another", "/nodes", admission.Delete, nil, nil, "b", "own Node"},

		{"its lease", "coordination.k8s.io/leases", admission.Create, lease("a"), nil, "", ""},
		{"the lease of another", "coordination.k8s.io/leases", admission.Create, lease("b"), nil, "", "own name"},
		{"a lease without a name", "coordination.k8s.io/leases", admission.Create, lease(""), nil, "", "own name"},
		{
			"renews the lease of another",
			"coordination.k8s.io/leases",
			admission.Update,
			lease("b"),
			lease("b"),
			"b",
			"own name",
		},

		{
			"status of its pod",
			"/pods/status",
			admission.Update,
			with(pod(0), func(p *core.Pod) { p.Status.Phase = "Running" }),
			pod(0),
			"p",
			"",
		},
		{"status of another pod", "/pods/status", admission.Update, pod(1), pod(1), "other", "bound to itself"},
		{
			"labels by the status",
			"/pods/status",
			admission.Update,
			with(pod(0), func(p *core.Pod) { p.Labels = map[string]string{"x": "y"} }),
			pod(0),
			"p",
			"labels",
		},
		{
			"claims by the status",
			"/pods/status",
			admission.Update,
			with(pod(0), func(p *core.Pod) { p.Status.ResourceClaimStatuses = nil }),
			pod(0),
			"p",
			"claims",
		},
		{"deletes its pod", "/pods", admission.Delete, nil, nil, "p", ""},
		{"deletes another pod", "/pods", admission.Delete, nil, nil, "other", "bound to itself"},
		{"deletes what is not there", "/pods", admission.Delete, nil, nil, "none", ""},
		{
			"evicts its pod",
			"/pods/eviction",
			admission.Create,
			&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p"}},
			nil,
			"p",
			"",
		},
		{
			"evicts another pod",
			"/pods/eviction",
			admission.Create,
			&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "other"}},
			nil,
			"",
			"bound to itself",
		},
		{"changes a pod", "/pods", admission.Update, pod(0), pod(0), "p", "may not do that"},
		{"binds a pod", "/pods/binding", admission.Create, &corev1.Binding{}, nil, "p", "may not do that"},
		{"a mirror pod", "/pods", admission.Create, mirror(func(*core.Pod) {}), nil, "", ""},
		{"a pod", "/pods", admission.Create, mirror(func(p *core.Pod) { p.Annotations = nil }), nil, "", "mirror pods"},
		{
			"a mirror pod elsewhere",
			"/pods",
			admission.Create,
			mirror(func(p *core.Pod) { p.Spec.NodeName = "b" }),
			nil,
			"",
			"bound to itself",
		},
		{
			"a mirror pod without owner",
			"/pods",
			admission.Create,
			mirror(func(p *core.Pod) { p.OwnerReferences = nil }),
			nil,
			"",
			"owner",
		},
		{
			"a mirror pod of an older node",
			"/pods",
			admission.Create,
			mirror(func(p *core.Pod) { p.OwnerReferences[0].UID = "x" }),
			nil,
			"",
			"UID",
		},
		{
			"a mirror pod with a secret",
			"/pods",
			admission.Create,
			mirror(func(p *core.Pod) { p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "s"}} }),
			nil,
			"",
			"secrets",
		},
		{
			"a mirror pod with an account",
			"/pods",
			admission.Create,
			mirror(func(p *core.Pod) { p.Spec.ServiceAccountName = "s" }),
			nil,
			"",
			"accounts",
		},

		{"its slice", "resource.k8s.io/resourceslices", admission.Create, sliceOf("a"), nil, "", ""},
		{"a slice of another", "resource.k8s.io/resourceslices", admission.Create, sliceOf("b"), nil, "", "spec.nodeName"},
		{
			"a slice for all",
			"resource.k8s.io/resourceslices",
			admission.Create,
			&resourcev1.ResourceSlice{},
			nil,
			"",
			"spec.nodeName",
		},
		{
			"takes the slice of another",
			"resource.k8s.io/resourceslices",
			admission.Update,
			sliceOf("a"),
			sliceOf("b"),
			"of-b",
			"spec.nodeName",
		},

		{
			"a token for its pod",
			"/serviceaccounts/token",
			admission.Create,
			token(ofPod("p", "p-uid"), "allot"),
			nil,
			"account",
			"",
		},
		{
			"for whom its pod talks to",
			"/serviceaccounts/token",
			admission.Create,
			token(ofPod("p", "p-uid"), "vault"),
			nil,
			"account",
			"",
		},
		{
			"for others",
			"/serviceaccounts/token",
			admission.Create,
			token(ofPod("p", "p-uid"), "bank"),
			nil,
			"account",
			`audience "bank"`,
		},
		{
			"a token for another pod",
			"/serviceaccounts/token",
			admission.Create,
			token(ofPod("other", "other-uid")),
			nil,
			"account",
			"bound to itself",
		},
		{
			"a token for an older pod",
			"/serviceaccounts/token",
			admission.Create,
			token(ofPod("p", "old")),
			nil,
			"account",
			"bound to itself",
		},
		{"a token for no pod", "/serviceaccounts/token", admission.Create, token(nil), nil, "account", "by name and UID"},
		{
			"a token for no UID",
			"/serviceaccounts/token",
			admission.Create,
			token(ofPod("p", "")),
			nil,
			"account",
			"by name and UID",
		},

		{
			"a larger disk",
			"/persistentvolumeclaims/status",
			admission.Update,
			disk(func(c *corev1.PersistentVolumeClaim) { c.Status.Capacity = corev1.ResourceList{} }),
			disk(same),
			"disk",
			"",
		},
		{
			"a disk of another",
			"/persistentvolumeclaims/status",
			admission.Update,
			disk(func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "x" }),
			disk(same),
			"disk",
			"sizes",
		},
		{"a disk", "/persistentvolumeclaims", admission.Update, disk(same), disk(same), "disk", "status"},
		{"all else", "/configmaps", admission.Create, &corev1.ConfigMap{}, nil, "x", ""},
	}
	n := newAuthorizer()
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			check := func(who user.Info) error {
				group, resource, _ := strings.Cut(tt.resource, "/")
				resource, sub, _ := strings.Cut(resource, "/")
				namespace := "ns"
				if group == "coordination.k8s.io" {
					namespace = corev1.NamespaceNodeLease
				}
				return n.Restrict(
					context.Background(),
					admission.NewAttributesRecord(tt.obj, tt.old, schema.GroupVersionKind{}, namespace, tt.name,
						schema.GroupVersionResource{Group: group, Resource: resource}, sub, tt.op, nil, false, who),
				)
			}
			err := check(nodeUser("system:node:a"))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err := check(nodeUser("system:fake")); err == nil {
				t.Error("a node without a name may do it")
			}
			if err := check(&user.DefaultInfo{Name: "system:node:a"}); err != nil {
				t.Errorf("others: %v", err)
			}
		})
	}
}
