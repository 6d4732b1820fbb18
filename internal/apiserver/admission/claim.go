package admission

import (
	"context"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/utils/ptr"
)

// adminConsent rejects administrative access to devices in a namespace without the label that
// permits it (R26). Specs are immutable, so that only new objects are checked.
func (c *Chain) adminConsent(
	ctx context.Context, a admission.Attributes, path *field.Path, spec *resourcev1.ResourceClaimSpec,
) error {
	fields := adminAccess(path.Child("devices", "requests"), a.GetKind().Version, spec.Devices.Requests)
	if len(fields) == 0 {
		return nil
	}
	ns, ok, err := c.reader.Namespace(ctx, a.GetNamespace())
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("namespace %s: %w", a.GetNamespace(), err))
	}
	if ok && ns.Labels[resourcev1.DRAAdminNamespaceLabelKey] == "true" {
		return nil
	}
	var errs field.ErrorList
	for _, f := range fields {
		errs = append(
			errs,
			field.Forbidden(
				f,
				fmt.Sprintf("administrative access needs the label %s: true on the namespace",
					resourcev1.DRAAdminNamespaceLabelKey),
			),
		)
	}
	return apierrors.NewInvalid(a.GetKind().GroupKind(), a.GetName(), errs)
}

// adminAccess returns the paths of the fields that request administrative access, as spelled in a
// version of the API.
func adminAccess(path *field.Path, version string, requests []resourcev1.DeviceRequest) []*field.Path {
	var out []*field.Path
	for i := range requests {
		if e := requests[i].Exactly; e != nil && ptr.Deref(e.AdminAccess, false) {
			at := path.Index(i)
			if version != "v1beta1" {
				at = at.Child("exactly")
			}
			out = append(out, at.Child("adminAccess"))
		}
	}
	return out
}
