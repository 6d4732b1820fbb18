package apiserver_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// impersonating returns a client with the permissions of a user.
func impersonating(t *testing.T, user string, groups ...string) *kubernetes.Clientset {
	t.Helper()
	cfg := remote(t)
	cfg.Impersonate = rest.ImpersonationConfig{
		UserName: user, Groups: groups, UID: "17", Extra: map[string][]string{"where": {"here"}},
	}
	return clientset(t, cfg)
}

// allowTo binds a user to a role with rules, and waits until the server's authorizer, which watches
// roles and bindings, permits the first action of each rule.
func allowTo(t *testing.T, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	client := clientset(t, shared.Loopback()).RbacV1()
	name := uniqueName("may")
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
	}
	if _, err := client.ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		awaitRight(t, user, firstOf(r))
	}
}

// firstOf returns the action of a rule with its first verb, group, resource and name.
func firstOf(r rbacv1.PolicyRule) authorizationv1.ResourceAttributes {
	resource, subresource, _ := strings.Cut(r.Resources[0], "/")
	a := authorizationv1.ResourceAttributes{
		Verb: r.Verbs[0], Group: r.APIGroups[0], Resource: resource, Subresource: subresource,
	}
	if len(r.ResourceNames) > 0 {
		a.Name = r.ResourceNames[0]
	}
	return a
}

// awaitRight waits until the server's authorizer permits an action to a user.
func awaitRight(t *testing.T, user string, right authorizationv1.ResourceAttributes) {
	t.Helper()
	reviews := clientset(t, shared.Loopback()).AuthorizationV1().SubjectAccessReviews()
	review := &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &right},
	}
	eventually(t, "the role counts", func() bool {
		answer, err := reviews.Create(t.Context(), review, metav1.CreateOptions{})
		return err == nil && answer.Status.Allowed
	})
}

func rule(verbs, resource string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		Verbs: []string{verbs}, APIGroups: []string{"certificates.k8s.io"}, Resources: []string{resource},
		ResourceNames: names,
	}
}

func signingRequest(t *testing.T, signer string, groups ...string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader,
		&x509.CertificateRequest{Subject: pkix.Name{CommonName: "jane", Organization: groups}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: uniqueName("request")},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: signer, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
			Username: "somebody else", Groups: []string{"system:masters"},
		},
	}
}

// The requester is the user of the request, whatever the object says, and cannot be changed.
func TestRequesterOfCertificate(t *testing.T) {
	user := uniqueName("jane")
	allowTo(t, user, rule("*", "certificatesigningrequests"))
	client := impersonating(t, user, "developers").CertificatesV1().CertificateSigningRequests()
	sent := signingRequest(t, certificatesv1.KubeAPIServerClientSignerName)
	sent.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: "Approved", Status: "True"}}
	made, err := client.Create(t.Context(), sent, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	check := func(r *certificatesv1.CertificateSigningRequest) {
		t.Helper()
		if r.Spec.Username != user || r.Spec.UID != "17" || !slices.Contains(r.Spec.Groups, "developers") ||
			slices.Contains(r.Spec.Groups, "system:masters") || !slices.Equal(r.Spec.Extra["where"], []string{"here"}) {
			t.Errorf("the requester is %s (%s) of %q, %v", r.Spec.Username, r.Spec.UID, r.Spec.Groups, r.Spec.Extra)
		}
		if len(r.Status.Conditions) > 0 {
			t.Errorf("conditions %v", r.Status.Conditions)
		}
	}
	check(made)
	made.Spec.Username, made.Spec.Groups, made.Spec.UID, made.Spec.Extra = "root", []string{"system:masters"}, "", nil
	made.Labels = map[string]string{"a": "b"}
	changed, err := client.Update(t.Context(), made, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	check(changed)
	if changed.Labels["a"] != "b" {
		t.Error("the label was not changed")
	}
	masters := signingRequest(t, certificatesv1.KubeAPIServerClientSignerName, "system:masters")
	if _, err := client.Create(t.Context(), masters, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a client of system:masters: %v", err)
	}
}

// Approving and signing need a permission on the signer, or on all signers of its domain.
func TestApprovingAndSigningNeedPermissions(t *testing.T) {
	admin := clientset(t, remote(t)).CertificatesV1().CertificateSigningRequests()
	writer, approver, domain := uniqueName("writer"), uniqueName("approver"), uniqueName("domain")
	all := []rbacv1.PolicyRule{
		rule("*", "certificatesigningrequests"), rule("update", "certificatesigningrequests/approval"),
		rule("update", "certificatesigningrequests/status"),
	}
	const signer = "example.com/one"
	allowTo(t, writer, all...)
	allowTo(t, approver, append(slices.Clone(all), rule("approve", "signers", signer))...)
	allowTo(t, domain, append(slices.Clone(all), rule("approve", "signers", "example.com/*"),
		rule("sign", "signers", "example.com/*"))...)
	for _, c := range []struct {
		user            string
		approves, signs bool
	}{{writer, false, false}, {approver, true, false}, {domain, true, true}} {
		r, err := admin.Create(t.Context(), signingRequest(t, signer), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		client := impersonating(t, c.user).CertificatesV1().CertificateSigningRequests()
		approved := r.DeepCopy()
		approved.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{
			{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"},
		}
		// without effect: the permission is for the stored signer
		approved.Spec.SignerName = "example.org/other"
		got, err := client.UpdateApproval(t.Context(), r.Name, approved, metav1.UpdateOptions{})
		if c.approves != (err == nil) || err != nil && !apierrors.IsForbidden(err) {
			t.Errorf("%s approves: %v", c.user, err)
		}
		if err == nil && (len(got.Status.Conditions) != 1 || got.Status.Conditions[0].LastUpdateTime.IsZero() ||
			got.Status.Conditions[0].LastTransitionTime.IsZero() || got.Spec.SignerName != signer) {
			t.Errorf("approved: %+v of %s", got.Status, got.Spec.SignerName)
		}
		if got, err = admin.Get(t.Context(), r.Name, metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		got.Status.Certificate = shared.RootCA()
		_, err = client.UpdateStatus(t.Context(), got, metav1.UpdateOptions{})
		if c.signs != (err == nil) || err != nil && !apierrors.IsForbidden(err) {
			t.Errorf("%s signs: %v", c.user, err)
		}
		got.Status.Certificate = nil
		if c.signs {
			continue
		}
		// Nothing changes, so no permission is needed.
		if got, err = admin.Get(t.Context(), r.Name, metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		got.Labels = map[string]string{"a": "b"}
		if _, err = client.UpdateStatus(t.Context(), got, metav1.UpdateOptions{}); err != nil {
			t.Errorf("%s changes a label by the status: %v", c.user, err)
		}
	}
}

// Certificates and approvals cannot be removed, and an update of the status cannot approve.
func TestApprovalIsFinal(t *testing.T) {
	admin := clientset(t, remote(t)).CertificatesV1().CertificateSigningRequests()
	r, err := admin.Create(t.Context(), signingRequest(t, "example.com/one"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	patch := func(sub, status string) error {
		data := []byte(`{"status":` + status + `}`)
		_, err := admin.Patch(t.Context(), r.Name, types.MergePatchType, data, metav1.PatchOptions{}, sub)
		return err
	}
	const approved, denied = `{"type":"Approved","status":"True"}`, `{"type":"Denied","status":"True"}`
	if err := patch("status", `{"conditions":[`+approved+`]}`); !apierrors.IsInvalid(err) {
		t.Errorf("approved by the status: %v", err)
	}
	if err := patch("approval", `{"conditions":[`+approved+`]}`); err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{
		`{"conditions":[]}`, `{"conditions":[` + denied + `]}`, `{"conditions":[` + approved + `,` + denied + `]}`,
	} {
		if err := patch("approval", c); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", c, err)
		}
	}
	got, err := admin.Get(t.Context(), r.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got.Status.Certificate = shared.RootCA()
	if got, err = admin.UpdateStatus(t.Context(), got, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	got.Status.Certificate = append([]byte("a comment\n"), got.Status.Certificate...)
	if _, err := admin.UpdateStatus(t.Context(), got, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("another certificate: %v", err)
	}
}

// A machine with a bootstrap token may only request certificates.
func TestBootstrapToken(t *testing.T) {
	admin := clientset(t, remote(t))
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bootstrap-token-abcdef"},
		Type:       "bootstrap.kubernetes.io/token",
		StringData: map[string]string{
			"token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
			"auth-extra-groups": "system:bootstrappers:allot:default-node-token",
		},
	}
	if _, err := admin.CoreV1().Secrets("kube-system").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	cfg := rest.AnonymousClientConfig(remote(t))
	cfg.BearerToken = "abcdef.0123456789abcdef"
	client := clientset(t, cfg)
	r := signingRequest(t, certificatesv1.KubeAPIServerClientKubeletSignerName, "system:nodes")
	made, err := client.CertificatesV1().CertificateSigningRequests().Create(t.Context(), r, metav1.CreateOptions{})
	if err != nil || made.Spec.Username != "system:bootstrap:abcdef" {
		t.Errorf("requested by %s, error %v", made.Spec.Username, err)
	}
	if _, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("nodes: %v", err)
	}
	if err := admin.CoreV1().Secrets("kube-system").Delete(t.Context(), secret.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	cfg.BearerToken = "abcdef.0123456789abcdeg"
	_, err = clientset(t, cfg).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsUnauthorized(err) {
		t.Errorf("another token: %v", err)
	}
}
