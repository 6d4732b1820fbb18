package replicationcontroller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/randfill"

	core "github.com/allot-dev/allot/api/core/v1"
)

// TestConversionKeepsEverything checks that a ReplicationController that is converted to a
// ReplicaSet and back is unchanged.
func TestConversionKeepsEverything(t *testing.T) {
	filler := randfill.NewWithSeed(1).NilChance(0.2).NumElements(1, 3).Funcs(
		func(m *metav1.ObjectMeta, c randfill.Continue) { m.Name = c.String(8) },
		func(t *core.PodTemplateSpec, c randfill.Continue) { t.Labels = map[string]string{"app": c.String(5)} },
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Unix(int64(c.Uint32()), 0) },
	)
	for range 300 {
		rc := &core.ReplicationController{}
		filler.Fill(rc)
		rc.TypeMeta = metav1.TypeMeta{}
		if rc.Spec.Template == nil {
			rc.Spec.Template = &core.PodTemplateSpec{} // validation requires one
		}
		if back := fromSet(toSet(rc)); !equality.Semantic.DeepEqual(rc, back) {
			t.Fatalf("seed 1 (-want +got):\n%s", cmp.Diff(rc, back))
		}
	}
}
