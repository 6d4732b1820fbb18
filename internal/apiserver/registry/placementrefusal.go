package registry

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	placement "github.com/allot-dev/allot/api/placement/v1alpha2"
)

// refused returns an error with a cause for each pod and each claim that was refused. It is a
// conflict if all of them conflict or do not exist, and otherwise has the code of the first other
// one.
func refused(request *placement.Placement, pods, claims []error) error {
	r := placementRefusal{status: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusConflict, Reason: metav1.StatusReasonConflict,
	}}
	r.addAll(field.NewPath("spec", "claims"), claims)
	refusedClaims := len(r.causes)
	r.addAll(field.NewPath("spec", "pods"), pods)
	if len(r.causes) == 0 {
		return nil
	}
	what := fmt.Sprintf("%d of %d pods cannot be bound", len(r.causes)-refusedClaims, len(request.Spec.Pods))
	if refusedClaims > 0 {
		what = fmt.Sprintf("%d of %d claims cannot be created", refusedClaims, len(request.Spec.Claims))
	}
	r.status.Message = what + ": " + r.causes[0].Message
	r.status.Details = &metav1.StatusDetails{
		Group:  placement.GroupName,
		Kind:   "placements",
		Name:   request.Name,
		Causes: r.causes,
	}
	return &apierrors.StatusError{ErrStatus: r.status}
}

// placementRefusal collects why parts of a request are refused.
type placementRefusal struct {
	status metav1.Status
	causes []metav1.StatusCause
}

// addAll adds the refusals of a list, which are nil for the parts that are not refused.
func (r *placementRefusal) addAll(path *field.Path, refusals []error) {
	for i, err := range refusals {
		if err != nil {
			r.add(path.Index(i), err)
		}
	}
}

func (r *placementRefusal) add(path *field.Path, err error) {
	reason := apierrors.ReasonForError(err)
	var answer apierrors.APIStatus
	if !isConflict(reason) && r.status.Code == http.StatusConflict {
		r.status.Code, r.status.Reason = http.StatusInternalServerError, metav1.StatusReasonInternalError
		if errors.As(err, &answer) {
			r.status.Code, r.status.Reason = answer.Status().Code, reason
		}
	}
	r.causes = append(r.causes, metav1.StatusCause{
		Type: metav1.CauseType(reason), Field: path.String(), Message: err.Error(),
	})
}

// isConflict reports whether a part is refused because it is not what the plan was made for.
func isConflict(reason metav1.StatusReason) bool {
	return reason == metav1.StatusReasonConflict || reason == metav1.StatusReasonNotFound ||
		reason == metav1.StatusReasonAlreadyExists
}
