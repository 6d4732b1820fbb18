package apiserver_test

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// TestServiceAccountTokens checks that an account can get a token and authenticate with it, has the
// permissions of its bindings, and is rejected once the pod to which the token is bound is deleted.
func TestServiceAccountTokens(t *testing.T) {
	ns := namespace(t)
	admin := clientset(t, remote(t))
	create := metav1.CreateOptions{}
	account, err := admin.CoreV1().ServiceAccounts(ns).Create(
		t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}},
		create,
	)
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{ServiceAccountName: "robot", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if pod, err = admin.CoreV1().Pods(ns).Create(t.Context(), pod, create); err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: "p", UID: pod.UID},
	}}
	answer, err := admin.CoreV1().ServiceAccounts(ns).CreateToken(t.Context(), "robot", request, create)
	if err != nil || answer.Status.Token == "" || answer.UID != account.UID {
		t.Fatalf("%+v, %v", answer, err)
	}

	cfg := rest.AnonymousClientConfig(remote(t))
	cfg.BearerToken = answer.Status.Token
	robot := clientset(t, cfg)
	me, err := robot.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{},
		create)
	if err != nil {
		t.Fatal(err)
	}
	who := me.Status.UserInfo
	if who.Username != "system:serviceaccount:"+ns+":robot" || who.UID != string(account.UID) ||
		who.Extra["authentication.kubernetes.io/pod-name"][0] != "p" {
		t.Errorf("is %+v", who)
	}
	_, err = robot.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	forbidden(t, "pods, before it is bound", err)
	bindRole(t, ns, "robots", "view", who.Username)
	_, err = robot.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	allowed(t, "pods", err)

	review := func() authenticationv1.TokenReviewStatus {
		r, err := admin.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{
			Spec: authenticationv1.TokenReviewSpec{Token: answer.Status.Token},
		}, create)
		if err != nil {
			t.Fatal(err)
		}
		return r.Status
	}
	if got := review(); !got.Authenticated || got.User.Username != who.Username {
		t.Errorf("a review says %+v", got)
	}
	if err := admin.CoreV1().Pods(ns).Delete(t.Context(), "p", *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "forgotten", func() bool { return !review().Authenticated })
}

func TestTokenRequestsAreChecked(t *testing.T) {
	ns := namespace(t)
	admin := clientset(t, remote(t))
	for _, name := range []string{"robot", "other"} {
		if _, err := admin.CoreV1().ServiceAccounts(ns).Create(t.Context(),
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{ServiceAccountName: "other", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if _, err := admin.CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ask := func(account string, spec authenticationv1.TokenRequestSpec) error {
		_, err := admin.CoreV1().ServiceAccounts(ns).CreateToken(
			t.Context(),
			account,
			&authenticationv1.TokenRequest{Spec: spec},
			metav1.CreateOptions{},
		)
		return err
	}
	bound := func(kind, name string) authenticationv1.TokenRequestSpec {
		return authenticationv1.TokenRequestSpec{
			BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: kind, APIVersion: "v1", Name: name},
		}
	}
	if err := ask("robot", authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(60))}); !apierrors.IsInvalid(
		err,
	) {
		t.Errorf("a minute: %v", err)
	}
	if err := ask("nobody", authenticationv1.TokenRequestSpec{}); !apierrors.IsNotFound(err) {
		t.Errorf("an account that does not exist: %v", err)
	}
	if err := ask("robot", bound("ConfigMap", "x")); !apierrors.IsInvalid(err) {
		t.Errorf("bound to a ConfigMap: %v", err)
	}
	if err := ask("robot", bound("Secret", "x")); !apierrors.IsNotFound(err) {
		t.Errorf("bound to what does not exist: %v", err)
	}
	if err := ask("robot", bound("Pod", "p")); !apierrors.IsBadRequest(err) {
		t.Errorf("bound to another's pod: %v", err)
	}
	// A user who may read an account may not act as the account.
	bindRole(t, ns, "viewers", "view", "vic-"+ns)
	_, err := impersonate(t, "vic-"+ns).CoreV1().ServiceAccounts(
		ns,
	).CreateToken(t.Context(), "robot", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	forbidden(t, "a viewer asks for a token", err)
}
