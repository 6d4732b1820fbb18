package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/model"
)

// The State has the current selector of each existing Service.
func TestServicesAreFollowed(t *testing.T) {
	s := model.NewState()
	shape := &model.Shape{Namespace: "ns", Labels: map[string]string{"app": "web"}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "1"}}
	other := service.DeepCopy()
	service.Spec.Selector, other.Spec.Selector = shape.Labels, map[string]string{"app": "other"}
	for _, step := range []struct {
		what     string
		change   change
		selected bool
	}{
		{"it comes", serviceChange(nil, service), true},
		{"it selects others", serviceChange(service, other), false},
		{"it selects the pod again", serviceChange(other, service), true},
		{"it goes", serviceChange(service, nil), false},
	} {
		step.change(s)
		if selected := s.Services.ServedWith(shape) != nil; selected != step.selected {
			t.Errorf("%s: the pod is selected: %t", step.what, selected)
		}
	}
}
