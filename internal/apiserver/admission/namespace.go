package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

// SystemNamespaces returns the namespaces that always exist.
func SystemNamespaces() []string {
	return []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease}
}

// undeletable reports whether a namespace must not be deleted, because the cluster depends on it.
func undeletable(name string) bool {
	return slices.Contains([]string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic}, name)
}

func isNamespace(a admission.Attributes) bool {
	kind := a.GetKind().GroupKind()
	return kind.Group == "" && kind.Kind == "Namespace"
}

// isAccessReview reports whether a request asks about permissions in a namespace. The response must
// not reveal whether the namespace exists.
func isAccessReview(a admission.Attributes) bool {
	return a.GetResource().GroupResource() == authorizationv1.Resource("localsubjectaccessreviews")
}

// namespaceAllows rejects new objects in namespaces that do not exist or are being deleted, and the
// deletion of namespaces that must not be deleted.
func (c *Chain) namespaceAllows(ctx context.Context, a admission.Attributes) error {
	if isNamespace(a) {
		if a.GetOperation() == admission.Delete && undeletable(a.GetName()) {
			return apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(),
				errors.New("this namespace may not be deleted"))
		}
		return nil
	}
	if a.GetNamespace() == "" || a.GetOperation() != admission.Create || isAccessReview(a) {
		return nil
	}
	ns, ok, err := c.reader.Namespace(ctx, a.GetNamespace())
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("namespace %s: %w", a.GetNamespace(), err))
	}
	if !ok {
		return apierrors.NewNotFound(corev1.Resource("namespaces"), a.GetNamespace())
	}
	if ns.Status.Phase != corev1.NamespaceTerminating {
		return nil
	}
	return terminating(a)
}

// terminating returns the error that clients recognize by its cause.
func terminating(a admission.Attributes) error {
	err := admission.NewForbidden(a,
		fmt.Errorf("namespace %s is being deleted, so nothing new can be made in it", a.GetNamespace()))
	if status, ok := err.(*apierrors.StatusError); ok { //nolint:errorlint // made above, never wrapped
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{
			Type:    corev1.NamespaceTerminatingCause,
			Message: fmt.Sprintf("namespace %s is being terminated", a.GetNamespace()),
			Field:   "metadata.namespace",
		})
	}
	return err
}
