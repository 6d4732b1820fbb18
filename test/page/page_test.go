package page

import (
	"context"
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/allot-dev/allot/internal/dashboard"
	"github.com/allot-dev/allot/internal/snapshot"
	"github.com/allot-dev/allot/internal/snapshot/gather"
)

var (
	screenshots = flag.String("screenshots", "", "folder for pictures of the page")
	large       = flag.Bool("large", false, "also open the page of 10,000 nodes, and print how long that takes")
)

// serve serves the page of a cluster.
func serve(t *testing.T, snap *snapshot.Snapshot) (*dashboard.View, string) {
	t.Helper()
	view := dashboard.NewView("")
	if err := view.Begin(snap); err != nil {
		t.Fatal(err)
	}
	server, err := dashboard.Listen("127.0.0.1:0", view, func() {})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return view, server.URL()
}

// TestPage uses the page of a small cluster. The steps share one browser, because it takes a second
// to start.
func TestPage(t *testing.T) {
	b := startBrowser(t)
	view, link := serve(t, fleet(96, 8))
	b.prefer("light")
	b.call("Page.navigate", map[string]any{"url": link}, nil)
	b.awaitPicture()
	checkContent(t, b)
	b.screenshot("light")
	checkKeyboard(t, b)
	checkPointer(t, b)
	b.screenshot("report")
	b.press("Escape", false)
	checkFilter(t, b)
	checkChange(t, b, view)
	checkDark(t, b)
	b.checkQuiet(link)
}

// checkContent checks that the parts of the page show the cluster.
func checkContent(t *testing.T, b *browser) {
	t.Helper()
	for selector, want := range map[string]string{
		"#cluster": "96 nodes by example.com/rack",
		"#units":   "team-a/wants-more",
		"#claims":  "reserved, not used yet",
		"#moments": "PodGroup team-a/wants-more is waiting: 0/96 nodes are available",
		"#legend":  "tainted 5",
	} {
		if got := b.text(selector); !strings.Contains(got, want) {
			t.Errorf("%s has %q, want %q", selector, got, want)
		}
	}
	b.await(`document.querySelector("#samples").getAttribute("aria-label").includes("of 768 devices in use, 1 waiting")`)
	var colours int
	b.evaluate(`(() => {
		const { width, height } = document.querySelector("#map");
		const pixels = new Uint32Array(document.querySelector("#map").getContext("2d").getImageData(0, 0, width, height).data.buffer);
		return new Set(pixels).size;
	})()`, &colours)
	if colours < 8 {
		t.Errorf("the map has %d colours", colours)
	}
}

// checkKeyboard opens an explanation with the keyboard alone, and closes it.
func checkKeyboard(t *testing.T, b *browser) {
	t.Helper()
	b.evaluate(`document.querySelector("#map").focus()`, nil)
	b.press("ArrowRight", false)
	if got := b.text("#cursor"); !strings.HasPrefix(got, "gpu-1: held · node-00000 in rack-000") ||
		!strings.Contains(got, "for podgroup team-a/train-00000") || !strings.Contains(got, "class gpu") {
		t.Errorf("the cursor is on %q", got)
	}
	b.press("ArrowDown", true)
	b.press("ArrowLeft", true)
	b.press("Enter", false)
	b.await(`document.querySelector("#report .summary") && document.activeElement.id === "report"`)
	if got := b.text("#report"); !strings.Contains(got, "device gpu.example.com/node-0000") {
		t.Errorf("the report is %q", got)
	}
	b.press("Escape", false)
	b.await(`document.querySelector("#report").hidden && document.activeElement.id === "map"`)
	b.evaluate(`document.querySelector("#units").focus()`, nil)
	b.press("Enter", false)
	b.await(`document.querySelector("#report .summary")`)
	for _, want := range []string{"podgroup team-a/wants-more", "Waiting", "claim team-a/wants-more", "94 of 96 nodes"} {
		if got := b.text("#report"); !strings.Contains(got, want) {
			t.Errorf("the report lacks %q: %s", want, got)
		}
	}
}

// checkPointer follows a link of an explanation.
func checkPointer(t *testing.T, b *browser) {
	t.Helper()
	var at struct{ X, Y float64 }
	b.evaluate(`(() => {
		const link = [...document.querySelectorAll("#report a")].find((a) => a.hash.startsWith("#node/"));
		link.scrollIntoView();
		const { x, y, width, height } = link.getBoundingClientRect();
		return { x: x + width / 2, y: y + height / 2 };
	})()`, &at)
	b.click(at.X, at.Y)
	b.await(`document.querySelector("#report h2")?.innerText.startsWith("node ") &&
		document.querySelector("#report .summary")`)
}

// checkFilter shows one namespace.
func checkFilter(t *testing.T, b *browser) {
	t.Helper()
	b.evaluate(`(() => {
		const { namespace } = document.querySelector("#filter").elements;
		namespace.value = "team-b";
		namespace.dispatchEvent(new Event("change", { bubbles: true }));
	})()`, nil)
	b.await(`!document.querySelector("#units").innerText.includes("team-a/") &&
		document.querySelector("#units").innerText.includes("team-b/")`)
	if got := b.text("#legend"); !strings.Contains(got, "held 0") {
		t.Errorf("the legend counts %q", got)
	}
	b.screenshot("filter")
	b.evaluate(`document.querySelector("#filter").reset()`, nil)
	b.await(`document.querySelector("#units").innerText.includes("team-a/")`)
}

// checkChange shows what the server has sent since.
func checkChange(t *testing.T, b *browser, view *dashboard.View) {
	t.Helper()
	more := snapshot.New(taken, snapshot.Server{})
	addWaitingGang(more, "newcomer", "minCount is not satisfied")
	batch := gather.Batch{Taken: metav1.NewTime(taken.Add(time.Second))}
	for _, g := range more.Objects.PodGroups {
		batch.Changes = append(batch.Changes, watch.Event{Type: watch.Added, Object: g})
	}
	if err := view.Change(batch); err != nil {
		t.Fatal(err)
	}
	b.await(`document.querySelector("#units").innerText.includes("team-a/newcomer")`)
	b.await(`document.querySelector("#moments").innerText.includes("newcomer is waiting: minCount is not satisfied")`)
	view.Fail(errors.New("the cluster cannot be read"))
	b.await(`document.querySelector("#status").innerText === "the cluster cannot be read"`)
}

// checkDark checks that the page follows the colour scheme.
func checkDark(t *testing.T, b *browser) {
	t.Helper()
	var light, dark string
	const paper = `getComputedStyle(document.body).backgroundColor`
	b.evaluate(paper, &light)
	b.prefer("dark")
	b.evaluate(paper, &dark)
	if light == dark {
		t.Errorf("the background is %s in light and dark", light)
	}
	b.screenshot("dark")
}

// TestLargeFleet opens the page of 10,000 nodes with 8 devices each, and of 3,334 gangs.
func TestLargeFleet(t *testing.T) {
	if !*large {
		t.Skip("run it with -large")
	}
	b := startBrowser(t)
	_, link := serve(t, fleet(10_000, 8))
	b.prefer("dark")
	begun := time.Now()
	b.call("Page.navigate", map[string]any{"url": link}, nil)
	b.awaitPicture()
	t.Logf("first picture after %v", time.Since(begun).Round(time.Millisecond))
	var first, painted, memory float64
	b.evaluate(`performance.getEntriesByName("first-picture")[0].startTime`, &first)
	b.evaluate(`performance.getEntriesByName("map-painted").at(-1).startTime`, &painted)
	b.evaluate(`performance.memory.usedJSHeapSize / 1e6`, &memory)
	t.Logf("in the page: received and listed after %.0f ms, painted after %.0f ms, heap %.0f MB", first, painted, memory)
	b.screenshot("large")
	b.checkQuiet(link)
}
