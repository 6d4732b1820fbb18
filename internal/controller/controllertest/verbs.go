package controllertest

import (
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
)

// DoRefuse handles the verb "refuse verb=… [with=…]": the server refuses such requests, or no
// longer does.
func (j *Journal) DoRefuse(t *testing.T, d *datadriven.TestData) {
	var verb, with string
	d.ScanArgs(t, "verb", &verb)
	d.MaybeScanArgs(t, "with", &with)
	delete(j.Refuse, verb)
	if with != "" {
		j.Refuse[verb] = Refusal(with)
	}
}

// DoAdvance handles the verb "advance by=…".
func (j *Journal) DoAdvance(t *testing.T, d *datadriven.TestData) {
	var by string
	d.ScanArgs(t, "by", &by)
	j.Now.Step(Duration(t, by))
}

// Duration parses a duration.
func Duration(t *testing.T, text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// MakeReady sets the status of a pod that is ready since a time.
func MakeReady(pod *core.Pod, since time.Time) {
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since),
	}}
}
