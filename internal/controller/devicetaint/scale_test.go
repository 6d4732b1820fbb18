package devicetaint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/claims/claimstest"
)

// TestF61EachMemberOfALargeGroupIsEvictedOnce taints the only device of 9,216 pods, and changes all
// of them once more before the cache shows that any was deleted.
func TestF61EachMemberOfALargeGroupIsEvictedOnce(t *testing.T) {
	const members = 9216
	var text strings.Builder
	text.WriteString("claim g allocated devices=gpu-0 reserved=group/pg\n")
	for i := range members {
		fmt.Fprintf(&text, "pod m-%d group=pg node=n1 claims=s:group/shared status=s:g\n", i)
	}
	objects, err := claimstest.Parse(text.String())
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.put(objects)
	rule := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "r"}}
	rule.Spec.DeviceSelector = &resourcev1.DeviceTaintSelector{}
	rule.Spec.Taint = resourcev1.DeviceTaint{Key: "bad", Effect: resourcev1.DeviceTaintEffectNoExecute}
	w.lags = true
	w.putRule(rule)
	w.work(t)
	for _, pod := range objects.Pods {
		pod = pod.DeepCopy()
		pod.Labels = map[string]string{"changed": "yes"}
		w.pods.Put(pod)
	}
	if len(w.ready) < members {
		t.Fatalf("%d keys to look at once more", len(w.ready))
	}
	w.work(t)
	slices.Sort(w.log)
	deleted := slices.Compact(
		slices.DeleteFunc(slices.Clone(w.log), func(line string) bool { return !strings.Contains(line, ": delete ") }),
	)
	if len(deleted) != members || strings.Count(strings.Join(w.log, "\n"), ": delete ") != members {
		t.Errorf("%d pods were deleted, want %d, each once", len(deleted), members)
	}
	if w.waits != members {
		t.Errorf("the limiter was asked %d times, want %d: before each deletion", w.waits, members)
	}
	if last := w.log[len(w.log)-1]; !strings.Contains(last, fmt.Sprintf("%d evicted", members)) {
		t.Errorf("last line of the log: %s", last)
	}
}
