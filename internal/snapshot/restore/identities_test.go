package restore

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	batch "github.com/allot-dev/allot/api/batch/v1"
)

func TestReferencesFollowNewUIDs(t *testing.T) {
	ids := newIdentities()
	ids.add("", "account") // an object that the Snapshot does not have
	ids.add("old", "new")
	for name, tt := range map[string]struct {
		owner, label         types.UID
		wantOwner, wantLabel types.UID
	}{
		"written":     {"old", "old", "new", "new"},
		"not written": {"other", "other", "", "other"},
		"none":        {"", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			job := &batch.Job{}
			if tt.owner != "" {
				job.OwnerReferences = []metav1.OwnerReference{{UID: tt.owner}}
				job.Labels = map[string]string{batchv1.ControllerUidLabel: string(tt.label)}
			}
			ids.prepare(job)
			var owner types.UID
			if len(job.OwnerReferences) > 0 {
				owner = job.OwnerReferences[0].UID
			}
			if label := types.UID(job.Labels[batchv1.ControllerUidLabel]); owner != tt.wantOwner || label != tt.wantLabel {
				t.Errorf("owner %q, label %q; want %q, %q", owner, label, tt.wantOwner, tt.wantLabel)
			}
		})
	}
}
