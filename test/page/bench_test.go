package page

import (
	"encoding/json"
	"runtime"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/allot-dev/allot/internal/dashboard"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/picture"
	"github.com/allot-dev/allot/internal/snapshot/gather"
)

// BenchmarkView measures what the server does for 10,000 nodes with 8 devices each: begin is from a
// Snapshot to the first Picture, encode what a page that opens is sent, change one change of a node,
// and explain the explanation of a gang that waits, after a change.
func BenchmarkView(b *testing.B) {
	snap := fleet(10_000, 8)
	view := dashboard.NewView("")
	b.Run("begin", func(b *testing.B) {
		for b.Loop() {
			view = dashboard.NewView("")
			if err := view.Begin(snap); err != nil {
				b.Fatal(err)
			}
		}
		var memory runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&memory)
		b.ReportMetric(float64(memory.HeapAlloc)/1e6, "heap-MB")
	})
	b.Run("encode", func(b *testing.B) {
		size := 0
		for b.Loop() {
			scene, _ := view.Now()
			data, err := json.Marshal(scene.Picture.Since(&picture.Picture{}))
			if err != nil {
				b.Fatal(err)
			}
			size = len(data)
		}
		b.ReportMetric(float64(size)/1e6, "MB")
	})
	cordon := func(b *testing.B, i int) {
		b.Helper()
		n := node("node-00000", 0)
		n.Spec.Unschedulable = i%2 == 0
		at := metav1.NewTime(taken.Add(time.Duration(i) * time.Second))
		if err := view.Change(gather.Batch{Taken: at, Changes: []watch.Event{{Type: watch.Modified, Object: n}}}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("change", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			before, _ := view.Now()
			cordon(b, i)
			now, _ := view.Now()
			if d := now.Picture.Since(before.Picture); len(d.Nodes.Put) != 1 {
				b.Fatalf("%d nodes have changed", len(d.Nodes.Put))
			}
		}
	})
	b.Run("explain", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			cordon(b, i)
			if _, err := view.Explain("podgroup", model.Key{Namespace: "team-a", Name: "wants-more"}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
