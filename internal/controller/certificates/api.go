package certificates

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// New returns the controller of the requests in inf's cache, which signs them with issuer, or nothing
// if that is nil. It must be called before inf is started.
func New(set *client.Set, inf *client.Informers, issuer Issuer) (*Controller, error) {
	reviews, err := typed.NewForConfig(set.Config())
	if err != nil {
		return nil, fmt.Errorf("a client for access reviews: %w", err)
	}
	requests := inf.CertificateSigningRequests()
	c := &Controller{
		requests: requests, server: server{set, reviews}, issuer: issuer, clock: clock.RealClock{},
	}
	runner := reconciler.New("certificates", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	requests.OnChange(c.onRequest)
	return c, nil
}

type server struct {
	set     *client.Set
	reviews typed.SubjectAccessReviewsGetter
}

func (s server) MayCreate(
	ctx context.Context, r *certificatesv1.CertificateSigningRequest, subresource string,
) (bool, error) {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range r.Spec.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: r.Spec.Username, UID: r.Spec.UID, Groups: r.Spec.Groups, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "create", Group: certificatesv1.GroupName, Version: "*", Resource: "certificatesigningrequests",
			Subresource: subresource,
		},
	}}
	result, err := s.reviews.SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return result.Status.Allowed, nil
}

func (s server) UpdateApproval(ctx context.Context, r *certificatesv1.CertificateSigningRequest) error {
	return s.set.UpdateApproval(ctx, r)
}

func (s server) UpdateStatus(ctx context.Context, r *certificatesv1.CertificateSigningRequest) error {
	_, err := s.set.CertificateSigningRequests().UpdateStatus(ctx, r, metav1.UpdateOptions{})
	return err
}

func (s server) Delete(ctx context.Context, r *certificatesv1.CertificateSigningRequest) error {
	return s.set.CertificateSigningRequests().Delete(ctx, r.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &r.UID}})
}
