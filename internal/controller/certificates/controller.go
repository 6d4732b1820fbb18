package certificates

import (
	"context"
	"crypto/x509"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/pki"
)

// lookAgain is the interval at which the permissions of a requester are read again.
const lookAgain = 10 * time.Second

type requestCache interface {
	Get(namespace, name string) (*certificatesv1.CertificateSigningRequest, bool)
}

// requestServer writes requests and knows what users may do.
type requestServer interface {
	// MayCreate reports whether the requester may create a subresource of requests.
	MayCreate(ctx context.Context, r *certificatesv1.CertificateSigningRequest, subresource string) (bool, error)
	UpdateApproval(ctx context.Context, r *certificatesv1.CertificateSigningRequest) error
	UpdateStatus(ctx context.Context, r *certificatesv1.CertificateSigningRequest) error
	Delete(ctx context.Context, r *certificatesv1.CertificateSigningRequest) error
}

// Issuer signs certificates.
type Issuer interface {
	Issue(request pki.Request) ([]byte, error)
}

// Controller approves, signs and deletes requests.
type Controller struct {
	requests requestCache
	server   requestServer
	issuer   Issuer // nil if requests are signed elsewhere
	clock    clock.PassiveClock
	queue    reconciler.Queue[types.NamespacedName]
	run      func(context.Context) error
}

// Run reconciles until ctx is done.
func (c *Controller) Run(ctx context.Context) error { return c.run(ctx) }

// Reconcile makes the next step of a request.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) error {
	cached, ok := c.requests.Get(key.Namespace, key.Name)
	if !ok || cached.DeletionTimestamp != nil {
		return nil
	}
	err := c.step(ctx, cached.DeepCopy())
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the next event has the current request, if there still is one
	}
	if err != nil {
		return fmt.Errorf("certificate signing request %s: %w", key.Name, err)
	}
	return nil
}

func (c *Controller) step(ctx context.Context, r *certificatesv1.CertificateSigningRequest) error {
	if end := Expiry(r); !end.IsZero() {
		left := end.Sub(c.clock.Now())
		if left <= 0 {
			return c.server.Delete(ctx, r)
		}
		c.queue.AddAfter(reconciler.KeyOf(r), left)
	}
	switch {
	case len(r.Status.Certificate) == 0 && !Decided(r):
		return c.approve(ctx, r)
	case c.issuer != nil && Signable(r):
		return c.sign(ctx, r)
	}
	return nil
}

// approve approves a request if its requester has one of the permissions for that.
func (c *Controller) approve(ctx context.Context, r *certificatesv1.CertificateSigningRequest) error {
	request, err := parse(r)
	if err != nil {
		return err
	}
	approvals := Approvals(r, request)
	for _, a := range approvals {
		may, err := c.server.MayCreate(ctx, r, a.Subresource)
		if err != nil {
			return err
		}
		if may {
			addCondition(r, certificatesv1.CertificateApproved, "AutoApproved", a.Message)
			return c.server.UpdateApproval(ctx, r)
		}
	}
	if len(approvals) > 0 {
		c.queue.AddAfter(reconciler.KeyOf(r), lookAgain)
	}
	return nil
}

// sign signs an approved request, or marks it as failed.
func (c *Controller) sign(ctx context.Context, r *certificatesv1.CertificateSigningRequest) error {
	request, err := parse(r)
	if err != nil {
		return err
	}
	usage, ext, fault := Usages(r.Spec.Usages)
	if fault == nil {
		fault = Fault(r, request)
	}
	if fault != nil {
		addCondition(r, certificatesv1.CertificateFailed, "SignerValidationFailure", fault.Error())
		return c.server.UpdateStatus(ctx, r)
	}
	r.Status.Certificate, err = c.issuer.Issue(pki.Request{Request: request, Usage: usage, ExtUsages: ext, Life: Life(r)})
	if err != nil {
		return err
	}
	return c.server.UpdateStatus(ctx, r)
}

// parse returns the request, whose signature is that of its key.
func parse(r *certificatesv1.CertificateSigningRequest) (*x509.CertificateRequest, error) {
	request, err := pki.ParseRequest(r.Spec.Request)
	if err != nil {
		return nil, err
	}
	return request, request.CheckSignature()
}

// addCondition adds a condition. The server sets its times.
func addCondition(
	r *certificatesv1.CertificateSigningRequest, t certificatesv1.RequestConditionType, reason, message string,
) {
	r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: t, Status: corev1.ConditionTrue, Reason: reason, Message: message,
	})
}

// onRequest handles a change in the cache of requests.
func (c *Controller) onRequest(_, after *certificatesv1.CertificateSigningRequest) {
	if after != nil {
		c.queue.Add(reconciler.KeyOf(after))
	}
}
