package reason

import (
	"fmt"

	"github.com/allot-dev/allot/internal/model"
)

// GatedBy returns a text that names the pods of a group with scheduling gates, for which the others
// wait. As in kube-scheduler, a pod with scheduling gates holds all that wait with it: a gang that
// is placed without it would leave it behind.
func GatedBy(members []*model.Pod) string {
	text, more := "", 0
	for _, pod := range members {
		switch {
		case !pod.Gated || pod.Foreign || pod.Node != "" || !pod.Live():
		case text == "":
			text = "waiting for the scheduling gates of pod " + pod.Key.Name
		default:
			more++
		}
	}
	if more > 0 {
		text += fmt.Sprintf(" and of %d more", more)
	}
	return text
}
