package apiserver_test

import (
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/allot-dev/allot/internal/apiserver"
)

// impersonate returns a client that impersonates a user.
func impersonate(t *testing.T, name string, groups ...string) *kubernetes.Clientset {
	t.Helper()
	cfg := remote(t)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: append(groups, "system:authenticated")}
	return clientset(t, cfg)
}

// bindRole binds a user to a ClusterRole in a namespace, and waits until that is effective.
func bindRole(t *testing.T, ns, name, role, userName string) {
	t.Helper()
	admin := clientset(t, remote(t))
	b := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: userName}},
	}
	if _, err := admin.RbacV1().RoleBindings(ns).Create(t.Context(), b, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the role counts", func() bool {
		rules, err := impersonate(t, userName).AuthorizationV1().SelfSubjectRulesReviews().Create(
			t.Context(),
			&authorizationv1.SelfSubjectRulesReview{
				Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: ns},
			},
			metav1.CreateOptions{},
		)
		return err == nil && len(rules.Status.ResourceRules) > 2 // more than every user has
	})
}

func forbidden(t *testing.T, what string, err error, texts ...string) {
	t.Helper()
	if !apierrors.IsForbidden(err) {
		t.Errorf("%s: got %v, want forbidden", what, err)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %q does not say %q", what, err, text)
		}
	}
}

func allowed(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func podReader(name string, verbs ...string) *rbacv1.Role {
	return &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      []rbacv1.PolicyRule{{Verbs: verbs, APIGroups: []string{""}, Resources: []string{"pods"}}},
	}
}

// TestAnonymous checks that a client without credentials may only ask whether the server is
// healthy.
func TestAnonymous(t *testing.T) {
	client, err := rest.HTTPClientFor(rest.AnonymousClientConfig(remote(t)))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/version": http.StatusOK, "/healthz": http.StatusOK, "/livez": http.StatusOK, "/readyz": http.StatusOK,
		"/api": http.StatusUnauthorized, "/apis": http.StatusUnauthorized, "/openapi/v2": http.StatusUnauthorized,
		"/readyz/etcd": http.StatusUnauthorized,
	} {
		resp, err := client.Get(shared.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: got %d, want %d", path, resp.StatusCode, want)
		}
	}
}

// TestNamespaceRoles checks that view, edit and admin in one namespace permit what they do in
// Kubernetes, in this namespace only.
func TestNamespaceRoles(t *testing.T) {
	ns, other := namespace(t), namespace(t)
	bindRole(t, ns, "viewers", "view", "vera")
	bindRole(t, ns, "editors", "edit", "edda")
	bindRole(t, ns, "admins", "admin", "adam")
	none := metav1.ListOptions{}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "c-"}}
	create := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

	vera := impersonate(t, "vera")
	_, err := vera.CoreV1().Pods(ns).List(t.Context(), none)
	allowed(t, "vera lists pods", err)
	_, err = vera.ResourceV1().ResourceClaims(ns).List(t.Context(), none)
	allowed(t, "vera lists claims", err)
	_, err = vera.CoreV1().Secrets(ns).List(t.Context(), none)
	forbidden(t, "vera lists secrets", err)
	_, err = vera.CoreV1().ConfigMaps(ns).Create(t.Context(), config, create)
	forbidden(t, "vera creates", err)
	_, err = vera.CoreV1().Pods(other).List(t.Context(), none)
	forbidden(t, "vera lists pods elsewhere", err)
	_, err = vera.CoreV1().Nodes().List(t.Context(), none)
	forbidden(t, "vera lists nodes", err)

	edda := impersonate(t, "edda")
	_, err = edda.CoreV1().ConfigMaps(ns).Create(t.Context(), config, create)
	allowed(t, "edda creates", err)
	_, err = edda.CoreV1().Secrets(ns).List(t.Context(), none)
	allowed(t, "edda lists secrets", err)
	_, err = edda.RbacV1().Roles(ns).List(t.Context(), none)
	forbidden(t, "edda lists roles", err)

	adam := impersonate(t, "adam")
	_, err = adam.RbacV1().Roles(ns).Create(t.Context(), podReader("reader", "get"), metav1.CreateOptions{})
	allowed(t, "adam creates a role", err)
	_, err = adam.SchedulingV1beta1().PodGroups(ns).List(t.Context(), none)
	allowed(t, "adam lists pod groups", err)
}

// TestEscalation checks that users can grant only permissions that they have, by role or by
// binding, unless they have the verbs escalate or bind.
func TestEscalation(t *testing.T) {
	ns := namespace(t)
	user := "eve-" + ns
	bindRole(t, ns, "admins", "admin", user)
	eve := impersonate(t, user)
	create := metav1.CreateOptions{}

	strong := podReader("strong", "get")
	strong.Rules[0].Resources = []string{"pods", "nodes"}
	_, err := eve.RbacV1().Roles(ns).Create(t.Context(), strong, create)
	forbidden(t, "a role with nodes", err, "get nodes", "escalate")
	role, err := eve.RbacV1().Roles(ns).Create(t.Context(), podReader("weak", "get"), create)
	if err != nil {
		t.Fatal(err)
	}
	role.Rules[0].Verbs = []string{"*"}
	_, err = eve.RbacV1().Roles(ns).Update(t.Context(), role, metav1.UpdateOptions{})
	forbidden(t, "a role that grows", err, "* pods")
	// The garbage collector's own changes need no permissions.
	admin := clientset(t, remote(t))
	if _, err := admin.RbacV1().Roles(ns).Create(t.Context(), strong, create); err != nil {
		t.Fatal(err)
	}
	_, err = eve.RbacV1().Roles(ns).Patch(
		t.Context(),
		"strong",
		"application/merge-patch+json",
		[]byte(`{"metadata":{"finalizers":["example.com/x"]}}`),
		metav1.PatchOptions{},
	)
	allowed(t, "finalizers of a stronger role", err)
	_, err = eve.RbacV1().Roles(ns).Patch(
		t.Context(),
		"strong",
		"application/merge-patch+json",
		[]byte(`{"metadata":{"labels":{"a":"b"}}}`),
		metav1.PatchOptions{},
	)
	forbidden(t, "labels of a stronger role", err)

	bind := func(name, kind, role string) error {
		_, err := eve.RbacV1().RoleBindings(ns).Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{Kind: kind, Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}},
		}, create)
		return err
	}
	eventually(t, "the binding counts",
		func() bool { return !strings.Contains(bind("wait", "Role", "strong").Error(), "does not exist") })
	forbidden(t, "binding cluster-admin", bind("a", "ClusterRole", "cluster-admin"), "* *.*", "bind")
	forbidden(t, "binding a stronger role", bind("b", "Role", "strong"), "get nodes")
	forbidden(t, "binding a role that does not exist", bind("c", "Role", "ghost"), "does not exist")
	allowed(t, "binding view", bind("d", "ClusterRole", "view"))
	allowed(t, "binding her own role", bind("e", "Role", "weak"))

	// The verbs that permit it are escalate and bind.
	grant := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "binder-" + ns}, Rules: []rbacv1.PolicyRule{
		{
			Verbs:         []string{"bind"},
			APIGroups:     []string{rbacv1.GroupName},
			Resources:     []string{"clusterroles"},
			ResourceNames: []string{"cluster-admin"},
		},
		{Verbs: []string{"escalate"}, APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles"}},
	}}
	if _, err := admin.RbacV1().ClusterRoles().Create(t.Context(), grant, create); err != nil {
		t.Fatal(err)
	}
	forbidden(t, "binding the binder's role", bind("f", "ClusterRole", grant.Name))
	if _, err := admin.RbacV1().RoleBindings(ns).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "binder"},
		RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: grant.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}},
	}, create); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the binding counts", func() bool { return bind("g", "ClusterRole", "cluster-admin") == nil })
	if err := admin.RbacV1().RoleBindings(ns).Delete(t.Context(), "g", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the deletion of the binding counts", func() bool {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: ns,
				Verb:      "bind",
				Group:     rbacv1.GroupName,
				Resource:  "roles",
			},
		}}
		answer, err := eve.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, create)
		return err == nil && !answer.Status.Allowed
	})
	strong.Name = "strong-2"
	_, err = eve.RbacV1().Roles(ns).Create(t.Context(), strong, create)
	allowed(t, "a role with nodes, with the verb escalate", err)
	forbidden(t, "binding that role", bind("h", "Role", "strong-2"))
}

// TestAggregatedRoles checks that a role with the label is part of view while it exists, and that
// only an administrator can create roles that aggregate.
func TestAggregatedRoles(t *testing.T) {
	admin := clientset(t, remote(t))
	part := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{
			Name:   "things-viewer",
			Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"},
		},
		Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"get"}, APIGroups: []string{"example.com"}, Resources: []string{"things"}},
		},
	}
	if _, err := admin.RbacV1().ClusterRoles().Create(t.Context(), part, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	has := func(name string) bool {
		role, err := admin.RbacV1().ClusterRoles().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range role.Rules {
			if r.APIGroups[0] == "example.com" {
				return true
			}
		}
		return false
	}
	for _, name := range []string{"view", "edit", "admin"} {
		eventually(t, "the role counts", func() bool { return has(name) })
	}
	if err := admin.RbacV1().ClusterRoles().Delete(t.Context(), part.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"view", "edit", "admin"} {
		eventually(t, "the role counts", func() bool { return !has(name) })
	}
}

// TestAccessReviews uses the four kinds of access reviews.
func TestAccessReviews(t *testing.T) {
	ns := namespace(t)
	name := "rita-" + ns
	bindRole(t, ns, "viewers", "view", name)
	admin, rita := clientset(t, remote(t)).AuthorizationV1(), impersonate(t, name).AuthorizationV1()
	create := metav1.CreateOptions{}
	pods := func(verb string) *authorizationv1.ResourceAttributes {
		return &authorizationv1.ResourceAttributes{Verb: verb, Resource: "pods", Namespace: ns}
	}

	for verb, want := range map[string]bool{"get": true, "delete": false} {
		self, err := rita.SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: pods(verb)},
		}, create)
		if err != nil || self.Status.Allowed != want || self.Status.Denied {
			t.Errorf("%s, of oneself: %+v, %v", verb, self.Status, err)
		}
		spec := authorizationv1.SubjectAccessReviewSpec{User: name, ResourceAttributes: pods(verb)}
		sar, err := admin.SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: spec}, create)
		if err != nil || sar.Status.Allowed != want {
			t.Errorf("%s, of another: %+v, %v", verb, sar.Status, err)
		}
		local, err := admin.LocalSubjectAccessReviews(ns).Create(t.Context(), &authorizationv1.LocalSubjectAccessReview{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns}, Spec: spec,
		}, create)
		if err != nil || local.Status.Allowed != want {
			t.Errorf("%s, of another here: %+v, %v", verb, local.Status, err)
		}
	}
	_, err := rita.SubjectAccessReviews().Create(
		t.Context(),
		&authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: "x", ResourceAttributes: pods("get")},
		},
		create,
	)
	forbidden(t, "rita asks about another", err)

	path, err := rita.SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/metrics"},
		},
	}, create)
	if err != nil || path.Status.Allowed {
		t.Errorf("metrics: %+v, %v", path.Status, err)
	}
	_, err = admin.SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{}, create)
	if got := causes(t, err); len(got) != 1 || got[0] != "spec" {
		t.Errorf("an empty question: %v", got)
	}
	_, err = admin.LocalSubjectAccessReviews(ns).Create(
		t.Context(),
		&authorizationv1.LocalSubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods", Namespace: "other"},
		}},
		create,
	)
	if got := causes(t, err); len(got) != 2 {
		t.Errorf("another namespace, and nobody: %v", got)
	}
}

// TestImpersonation checks that impersonation needs a permission like other requests.
func TestImpersonation(t *testing.T) {
	admin := clientset(t, remote(t))
	me, err := impersonate(t, "ida", "devs").AuthenticationV1().SelfSubjectReviews().Create(
		t.Context(),
		&authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{},
	)
	if err != nil || me.Status.UserInfo.Username != "ida" {
		t.Fatalf("got %+v, %v; want ida", me, err)
	}
	spec := func(resource, name string) *authorizationv1.SubjectAccessReview {
		return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "ida",
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "impersonate", Resource: resource, Name: name},
		}}
	}
	answer, err := admin.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), spec("users", "admin"),
		metav1.CreateOptions{})
	if err != nil || answer.Status.Allowed {
		t.Errorf("ida for the administrator: %+v, %v", answer.Status, err)
	}
}

// TestSystemObjectsSurviveRestarts checks that a second start writes nothing, keeps added rules,
// and restores removed ones.
func TestSystemObjectsSurviveRestarts(t *testing.T) {
	cfg := apiserver.Config{DataDir: t.TempDir(), UnsafeNoFsync: true}
	versions := func(s *apiserver.Server) map[string]string {
		client := clientset(t, s.Loopback())
		out := map[string]string{}
		roles, err := client.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range roles.Items {
			out[r.Name] = r.ResourceVersion
		}
		bindings, err := client.RbacV1().ClusterRoleBindings().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range bindings.Items {
			out["binding "+b.Name] = b.ResourceVersion
		}
		return out
	}
	first := startServer(t, cfg)
	before := versions(first)
	client := clientset(t, first.Loopback())
	patch := func(name, text string) {
		if _, err := client.RbacV1().ClusterRoles().Patch(t.Context(), name, "application/merge-patch+json", []byte(text),
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	patch("system:basic-user", `{"rules":[]}`)
	patch("system:discovery",
		`{"rules":[],"metadata":{"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"false"}}}`)
	patch("system:monitoring", `{"rules":[{"verbs":["get"],"nonResourceURLs":["*"]}]}`)
	if err := client.RbacV1().ClusterRoleBindings().Delete(t.Context(), "system:kube-scheduler",
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	stopServer(t, first)

	second := startServer(t, cfg)
	after := versions(second)
	for name, version := range before {
		changed := after[name] != version
		want := name == "system:basic-user" || name == "system:discovery" || name == "system:monitoring" ||
			name == "binding system:kube-scheduler"
		if changed != want {
			t.Errorf("%s: version was %s, is %s", name, version, after[name])
		}
	}
	client = clientset(t, second.Loopback())
	for name, want := range map[string]int{"system:basic-user": 2, "system:discovery": 0, "system:monitoring": 1} {
		role, err := client.RbacV1().ClusterRoles().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || len(role.Rules) < want || (want == 0 && len(role.Rules) > 0) {
			t.Errorf("%s: %v, %v", name, role.Rules, err)
		}
	}
}
