package defaults

import core "github.com/allot-dev/allot/api/core/v1"

// ReplicationController sets one replica, and the defaults of the pod template, whose labels are
// the default for the selector and for the labels of the ReplicationController itself.
func ReplicationController(r *core.ReplicationController) {
	orNew(&r.Spec.Replicas, 1)
	template := r.Spec.Template
	if template == nil {
		return
	}
	if template.Labels != nil {
		if len(r.Spec.Selector) == 0 {
			r.Spec.Selector = template.Labels
		}
		if len(r.Labels) == 0 {
			r.Labels = template.Labels
		}
	}
	podSpec(&template.Spec)
}

// PodTemplate sets the defaults of the pods.
func PodTemplate(t *core.PodTemplate) { podSpec(&t.Template.Spec) }
