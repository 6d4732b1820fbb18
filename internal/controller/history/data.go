package history

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	core "github.com/allot-dev/allot/api/core/v1"
)

// content is the data of a revision: a strategic merge patch that restores the template of a
// workload.
type content struct {
	Spec struct {
		Template template `json:"template"`
	} `json:"spec"`
}

type template struct {
	// Directive replaces the whole template, so that fields added later are removed.
	Directive string `json:"$patch"`
	core.PodTemplateSpec
}

// encode sorts fields by name, as the server does after any patch, so that equal content usually
// has equal bytes.
func encode(t *core.PodTemplateSpec) ([]byte, error) {
	var c content
	c.Spec.Template = template{Directive: "replace", PodTemplateSpec: *t}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&c)
	if err != nil {
		return nil, fmt.Errorf("encode a pod template: %w", err)
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode a pod template: %w", err)
	}
	return data, nil
}

// Template returns the pod template of a revision.
func Template(revision *appsv1.ControllerRevision) (*core.PodTemplateSpec, error) {
	var c content
	if err := json.Unmarshal(revision.Data.Raw, &c); err != nil {
		return nil, fmt.Errorf("controllerrevision %s/%s: %w", revision.Namespace, revision.Name, err)
	}
	return &c.Spec.Template.PodTemplateSpec, nil
}
