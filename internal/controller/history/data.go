package history

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	core "github.com/allot-dev/allot/api/core/v1"
)

// content is what a revision holds: the strategic merge patch that gives a workload its template back.
type content struct {
	Spec struct {
		Template template `json:"template"`
	} `json:"spec"`
}

type template struct {
	// Directive has the template replaced as a whole: fields that were added later are to go.
	Directive string `json:"$patch"`
	core.PodTemplateSpec
}

// encode gives the fields in the order of their names: the server writes them so after any patch, and bytes that do not
// change are compared faster.
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

// Template is the pod template that a revision holds.
func Template(revision *appsv1.ControllerRevision) (*core.PodTemplateSpec, error) {
	var c content
	if err := json.Unmarshal(revision.Data.Raw, &c); err != nil {
		return nil, fmt.Errorf("controllerrevision %s/%s: %w", revision.Namespace, revision.Name, err)
	}
	return &c.Spec.Template.PodTemplateSpec, nil
}
