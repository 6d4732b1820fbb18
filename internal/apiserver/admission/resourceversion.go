package admission

import (
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
)

// CheckResourceVersion returns a bad request for a version that no object or list of this server
// has. An empty version is valid. The handlers of k8s.io/apiserver would respond with 500.
func CheckResourceVersion(path *field.Path, version string) error {
	if version == "" {
		return nil
	}
	if _, err := strconv.ParseUint(version, 10, 64); err != nil {
		return apierrors.NewBadRequest(
			field.Invalid(path, version, "must be a decimal number, as in the metadata of an object or list").Error(),
		)
	}
	return nil
}

// updatedVersion checks the version that an update names, also of a custom resource.
func updatedVersion(a admission.Attributes) error {
	if a.GetOperation() != admission.Update {
		return nil
	}
	m, err := meta.Accessor(a.GetObject())
	if err != nil {
		return nil //nolint:nilerr // no object with metadata, so that there is no version
	}
	return CheckResourceVersion(field.NewPath("metadata", "resourceVersion"), m.GetResourceVersion())
}
