package picture

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/allot-dev/allot/api"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/snapshot"
)

// start is when scenarios begin; each change is a minute later.
var start = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

// cluster is a World that scenarios change.
type cluster struct {
	world   *snapshot.World
	painter *Painter
	picture *Picture
	now     time.Time
}

func newCluster(t testing.TB) *cluster {
	t.Helper()
	server := snapshot.Server{Version: "v1.37.2+allot", Allot: true}
	world, err := snapshot.New(metav1.NewTime(start), server).World("default-scheduler")
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{world: world, painter: NewPainter(world, server, ""), picture: &Picture{}, now: start}
}

// paint updates the Picture of the cluster, and returns the difference.
func (c *cluster) paint(unknown ...snapshot.Unknown) *Difference {
	c.world.Apply()
	before := c.picture
	c.picture = c.painter.Paint(before, metav1.NewTime(c.now), unknown)
	return c.picture.Since(before)
}

// TestScenarios runs the files of testdata. "put" adds or replaces the objects of YAML documents a
// minute later, "delete" removes them, and both print what changes; "picture" prints everything, as
// a page that opens gets it.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		c := newCluster(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "put", "delete":
				for _, object := range objects(t, d.Input) {
					if d.Cmd == "put" {
						c.world.Put(object)
					} else {
						c.world.Remove(object.(client.Object))
					}
				}
				c.now = c.now.Add(time.Minute)
				return text(t, c.paint())
			case "picture":
				return text(t, c.picture.Since(&Picture{}))
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

func objects(t *testing.T, manifests string) []runtime.Object {
	t.Helper()
	decoder := serializer.NewCodecFactory(api.NewScheme(), serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifests)))
	var list []runtime.Object
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		object, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		list = append(list, object)
	}
}

// text returns a difference with one entry of its lists in a line.
func text(t *testing.T, d *Difference) string {
	t.Helper()
	var b strings.Builder
	line := func(what string, value any) {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s\n", what, data)
	}
	for _, kind := range d.Kinds {
		line("kind", kind)
	}
	lines(line, "node", d.Nodes)
	lines(line, "pool", d.Pools)
	lines(line, "unit", d.Units)
	lines(line, "claim", d.Claims)
	for _, sample := range d.Samples {
		line("sample", sample)
	}
	for _, moment := range d.Moments {
		line("moment", moment)
	}
	return b.String()
}

func lines[T any](line func(string, any), noun string, c *Changes[T]) {
	if c == nil {
		return
	}
	for _, entry := range c.Put {
		line(noun, entry)
	}
	for _, key := range c.Deleted {
		line("no "+noun, key)
	}
}
