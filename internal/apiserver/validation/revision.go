package validation

import (
	"bytes"
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateControllerRevision checks a new ControllerRevision, which has an object of any kind.
func ValidateControllerRevision(r *appsv1.ControllerRevision) field.ErrorList {
	return join(
		metadata(&r.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		nonNegative(field.NewPath("revision"), r.Revision),
		revisionData(field.NewPath("data"), r.Data.Raw),
	)
}

// ValidateControllerRevisionUpdate checks a change of a ControllerRevision. The revision number is
// mutable, the data are not.
func ValidateControllerRevisionUpdate(r, old *appsv1.ControllerRevision) field.ErrorList {
	return join(
		metadataAgain(&r.ObjectMeta, &old.ObjectMeta, apivalidation.NameIsDNSSubdomain),
		nonNegative(field.NewPath("revision"), r.Revision),
		immutableField(field.NewPath("data"), parsed(r.Data.Raw), parsed(old.Data.Raw)),
	)
}

// parsed returns data as values: a patch of the labels reorders the fields of the object.
func parsed(data []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var content any
	if err := decoder.Decode(&content); err != nil {
		return data // stored before data were validated
	}
	return content
}

func revisionData(path *field.Path, raw []byte) field.ErrorList {
	if raw == nil || string(raw) == "null" {
		return errorList(field.Required(path, ""))
	}
	var content map[string]any
	return requiredUnless(json.Unmarshal(raw, &content) == nil, path, "must be a JSON object")
}
