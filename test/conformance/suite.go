package conformance

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// resources are the kinds that the statements create.
var resources = map[string]string{
	"Namespace": "namespaces", "Pod": "pods", "PodGroup": "podgroups", "DeviceClass": "deviceclasses",
	"ResourceClaim":         "resourceclaims",
	"ResourceClaimTemplate": "resourceclaimtemplates", "ClusterResourceClaimTemplate": "clusterresourceclaimtemplates",
}

// suite is a cluster under test.
type suite struct {
	Target

	clients *kubernetes.Clientset
	dynamic *dynamic.DynamicClient
	groups  schema.GroupVersionResource
	run     string // distinguishes this run's namespaces
	spaces  atomic.Int32
}

func newSuite(t *testing.T, target Target) *suite {
	t.Helper()
	cfg := rest.CopyConfig(target.Config)
	cfg.QPS = -1
	gv, err := schema.ParseGroupVersion(target.Spelling.groups())
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{Target: target, groups: gv.WithResource("podgroups"), run: fmt.Sprintf("c%d", time.Now().UnixNano()%1e9)}
	if s.clients, err = kubernetes.NewForConfig(cfg); err != nil {
		t.Fatal(err)
	}
	if s.dynamic, err = dynamic.NewForConfig(cfg); err != nil {
		t.Fatal(err)
	}
	for _, class := range []string{gpus, channels} {
		if err := s.create(t.Context(), "", fmt.Sprintf(classText, class)); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	return s
}

// space is the namespace of one statement.
type space struct {
	*suite

	name string
}

// newSpace creates a namespace with a template for one device of each class. It is emptied after
// the statement, so that the devices are free for the next.
func (s *suite) newSpace(t *testing.T) space {
	t.Helper()
	n := space{s, fmt.Sprintf("%s-%d", s.run, s.spaces.Add(1))}
	n.createManifest(t, fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", n.name))
	for _, class := range []string{gpus, channels} {
		n.createManifest(t, fmt.Sprintf(templateText, class, class, 1))
	}
	n.waitForAccount(t)
	t.Cleanup(func() { n.deleteAll(t) })
	return n
}

// waitForAccount waits until pods are admitted: on some clusters, a namespace gets its service
// account shortly after its creation.
func (s space) waitForAccount(t *testing.T) {
	t.Helper()
	if _, err := s.clients.CoreV1().ServiceAccounts("default").Get(t.Context(), "default",
		metav1.GetOptions{}); err != nil {
		return
	}
	s.eventually(t, func(ctx context.Context) string {
		_, err := s.clients.CoreV1().ServiceAccounts(s.name).Get(ctx, "default", metav1.GetOptions{})
		return errorText(err)
	})
}

// deleteAll deletes the statement's objects, and waits until its claims are deleted.
func (s space) deleteAll(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	all := metav1.DeleteOptions{}
	if t.Failed() {
		s.describe(t)
	}
	pods := s.clients.CoreV1().Pods(s.name).DeleteCollection(ctx, all, metav1.ListOptions{})
	groups := s.dynamic.Resource(s.suite.groups).Namespace(s.name).DeleteCollection(ctx, all, metav1.ListOptions{})
	claims := s.clients.ResourceV1().ResourceClaims(s.name).DeleteCollection(ctx, all, metav1.ListOptions{})
	for _, err := range []error{pods, groups, claims} {
		if err != nil {
			t.Errorf("empty %s: %v", s.name, err)
		}
	}
	s.eventually(t, func(ctx context.Context) string {
		left, err := s.clients.ResourceV1().ResourceClaims(s.name).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}
		return differs("claims are left", len(left.Items), 0)
	})
	if err := s.clients.CoreV1().Namespaces().Delete(ctx, s.name, all); err != nil {
		t.Errorf("delete namespace %s: %v", s.name, err)
	}
}

// describe logs the state for the analysis of a failure.
func (s space) describe(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	events, err := s.clients.CoreV1().Events(s.name).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Log(err)
		return
	}
	for i := range events.Items {
		e := &events.Items[i]
		t.Logf("event: %s/%s %s: %s (%d)", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message, e.Count)
	}
	claims, err := s.clients.ResourceV1().ResourceClaims(s.name).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Log(err)
		return
	}
	for i := range claims.Items {
		c := &claims.Items[i]
		t.Logf("claim %s: allocated %v, finalizers %v, consumers %v", c.Name, c.Status.Allocation != nil, c.Finalizers,
			c.Status.ReservedFor)
	}
}

// create creates the object of a manifest.
func (s *suite) create(ctx context.Context, namespace, manifest string) error {
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &obj.Object); err != nil {
		return fmt.Errorf("%w in\n%s", err, manifest)
	}
	gvk := obj.GroupVersionKind()
	var target dynamic.ResourceInterface = s.dynamic.Resource(gvk.GroupVersion().WithResource(resources[gvk.Kind]))
	switch gvk.Kind {
	case "Namespace", "DeviceClass", "ClusterResourceClaimTemplate":
	default:
		target = s.dynamic.Resource(gvk.GroupVersion().WithResource(resources[gvk.Kind])).Namespace(namespace)
	}
	_, err := target.Create(ctx, obj, metav1.CreateOptions{FieldValidation: "Strict"})
	return err
}

// createManifest creates the object of a manifest in the namespace.
func (s space) createManifest(t *testing.T, manifest string) {
	t.Helper()
	if err := s.create(t.Context(), s.name, manifest); err != nil {
		t.Fatalf("%v\n%s", err, manifest)
	}
}

func (s space) makeGroup(t *testing.T, g group) {
	t.Helper()
	s.createManifest(t, s.render(groupText, g))
}

// makePods creates count pods: name-0, name-1 and so on.
func (s space) makePods(t *testing.T, count int, p pod) {
	t.Helper()
	name := p.Name
	for i := range count {
		p.Name = fmt.Sprintf("%s-%d", name, i)
		s.createManifest(t, s.render(podText, p))
	}
}

func (s space) deletePods(t *testing.T, count int, name string) {
	t.Helper()
	for i := range count {
		if err := s.clients.CoreV1().Pods(s.name).Delete(t.Context(), fmt.Sprintf("%s-%d", name, i),
			metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func (s space) deleteGroup(t *testing.T, name string) {
	t.Helper()
	if err := s.dynamic.Resource(s.suite.groups).Namespace(s.name).Delete(t.Context(), name,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// podsIn counts the pods whose names are name and a number, by phase; bound ones are also counted
// as "bound".
func (s space) podsIn(ctx context.Context, name string) (map[string]int, error) {
	list, err := s.clients.CoreV1().Pods(s.name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for i := range list.Items {
		p := &list.Items[i]
		if base(p.Name) != name {
			continue
		}
		out["all"]++
		out[string(p.Status.Phase)]++
		if p.Spec.NodeName != "" {
			out["bound"]++
		}
	}
	return out, nil
}

// waitPods waits until this number of pods with a name is in a phase.
func (s space) waitPods(t *testing.T, name string, phase corev1.PodPhase, count int) {
	t.Helper()
	s.eventually(t, func(ctx context.Context) string {
		pods, err := s.podsIn(ctx, name)
		if err != nil {
			return err.Error()
		}
		if pods[string(phase)] != count {
			return fmt.Sprintf("pods %s: %v, want %d %s", name, pods, count, phase)
		}
		return ""
	})
}

// checkNoneBound checks for some time that no pod with this name is bound.
func (s space) checkNoneBound(t *testing.T, name string) {
	t.Helper()
	const quiet = 2 * time.Second
	for end := time.Now().Add(quiet); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		pods, err := s.podsIn(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if pods["bound"] > 0 {
			t.Fatalf("pods %s: %v, want none bound", name, pods)
		}
	}
}

// claimsOf returns the claims of an owner.
func (s space) claimsOf(ctx context.Context, kind, name string) ([]resourcev1.ResourceClaim, error) {
	list, err := s.clients.ResourceV1().ResourceClaims(s.name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var out []resourcev1.ResourceClaim
	for i := range list.Items {
		owner := metav1.GetControllerOf(&list.Items[i])
		if owner != nil && owner.Kind == kind && owner.Name == name {
			out = append(out, list.Items[i])
		}
	}
	return out, nil
}

// waitClaim waits until a PodGroup has one claim for which ok returns "", and returns it.
func (s space) waitClaim(
	t *testing.T, group string, ok func(*resourcev1.ResourceClaim) string,
) *resourcev1.ResourceClaim {
	t.Helper()
	var claim *resourcev1.ResourceClaim
	s.eventually(t, func(ctx context.Context) string {
		claims, err := s.claimsOf(ctx, "PodGroup", group)
		if err != nil {
			return err.Error()
		}
		if len(claims) != 1 {
			return fmt.Sprintf("PodGroup %s has %d claims, want 1", group, len(claims))
		}
		claim = &claims[0]
		return ok(claim)
	})
	return claim
}

// eventually waits until check returns "". Any other result describes what is wrong.
func (s *suite) eventually(t *testing.T, check func(context.Context) string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), s.Patience)
	defer cancel()
	last := ""
	for {
		now := check(ctx)
		if now == "" {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("after %s: %s", s.Patience, last)
		}
		last = now
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func errorText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func differs(what string, got, want int) string {
	if got == want {
		return ""
	}
	return fmt.Sprintf("%s: %d, want %d", what, got, want)
}
