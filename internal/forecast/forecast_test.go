package forecast_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/allot-dev/allot/api"
	"github.com/allot-dev/allot/internal/apiserver/offline"
	"github.com/allot-dev/allot/internal/apiserver/registry"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/forecast"
	"github.com/allot-dev/allot/internal/snapshot"
)

var rewrite = flag.Bool("rewrite", false, "write the output into the golden files")

// start is the time of all Snapshots.
var start = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

func newServer(tb testing.TB) *offline.Server {
	tb.Helper()
	scheme := api.NewScheme()
	if err := registry.AddToScheme(scheme); err != nil {
		tb.Fatal(err)
	}
	if err := registry.AddDefaults(scheme, func() time.Time { return start }); err != nil {
		tb.Fatal(err)
	}
	server, err := offline.New(scheme)
	if err != nil {
		tb.Fatal(err)
	}
	return server
}

// manifests returns the objects of YAML documents, in namespace default.
func manifests(tb testing.TB, server *offline.Server, name, text string) []forecast.Manifest {
	tb.Helper()
	var list []forecast.Manifest
	for document := range strings.SplitSeq(text, "\n---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		data, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		object, err := server.Decode(data)
		if err != nil {
			tb.Fatalf("%s: %v in\n%s", name, err, document)
		}
		if server.Namespaced(object) && object.GetNamespace() == "" {
			object.SetNamespace("default")
		}
		list = append(list, forecast.Manifest{Source: name + ": " + object.GetName(), Object: object, Patch: data})
	}
	return list
}

// Each file of testdata is a cluster and Changes, and the Plan as text. The fixtures that "world:"
// names, and world.yaml, are applied first and settle; then apply.yaml is planned with the flags
// after "plan:".
func TestPlans(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { testPlan(t, file) })
	}
}

func testPlan(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(t)
	changes, capacity, snap := input(t, server, archive)
	f := forecast.New(snap, server)
	predict := f.Plan
	if capacity {
		predict = f.Capacity
	}
	var out bytes.Buffer
	if plan, err := predict(changes); err != nil {
		out.WriteString("error: " + err.Error() + "\n")
	} else if err := plan.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if len(strings.TrimSpace(line)) > 80 && !strings.HasPrefix(line, "        ") && !strings.HasPrefix(line, "error") {
			t.Errorf("the line has more than 80 columns: %s", line)
		}
	}
	for i := range archive.Files {
		if archive.Files[i].Name != "plan" {
			continue
		}
		if *rewrite {
			archive.Files[i].Data = out.Bytes()
			if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
				t.Fatal(err)
			}
			return
		}
		if diff := cmp.Diff(string(archive.Files[i].Data), out.String()); diff != "" {
			t.Error(diff)
		}
		return
	}
	t.Fatal("the file has no plan")
}

// input returns the Changes of a file, and the Snapshot of its cluster.
func input(
	t *testing.T, server *offline.Server, archive *txtar.Archive,
) (changes forecast.Changes, capacity bool, snap *snapshot.Snapshot) {
	t.Helper()
	snap = snapshot.New(metav1.NewTime(start), snapshot.Server{Version: "v1.37.2+allot", Allot: true})
	var world forecast.Changes
	for line := range strings.Lines(string(archive.Comment)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		for value := range strings.FieldsSeq(rest) {
			switch word {
			case "world:":
				data, err := os.ReadFile(filepath.Join("testdata", "fixtures", value+".yaml"))
				if err != nil {
					t.Fatal(err)
				}
				world.Apply = append(world.Apply, manifests(t, server, value, string(data))...)
			case "plan:":
				capacity = flags(t, &changes, value) || capacity
			}
		}
	}
	for _, f := range archive.Files {
		switch f.Name {
		case "world.yaml":
			world.Apply = append(world.Apply, manifests(t, server, f.Name, string(f.Data))...)
		case "apply.yaml":
			changes.Apply = manifests(t, server, f.Name, string(f.Data))
		}
	}
	after, err := forecast.New(snap, server).After(world)
	if err != nil {
		t.Fatal(err)
	}
	after.Taken = metav1.NewTime(start.Add(time.Hour))
	return changes, capacity, after
}

// A saved plan is a valid cluster for the next plan: its new objects get other UIDs.
func TestUIDsAreUniqueAfterSavedPlan(t *testing.T) {
	server := newServer(t)
	_, _, snap := input(t, server, txtar.Parse([]byte("world: gpus nodes\n")))
	for _, name := range []string{"one", "two"} {
		pod := "{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {containers: [{name: c, image: pause}], " +
			"resourceClaims: [{name: g, resourceClaimTemplateName: one-gpu}]}}"
		after, err := forecast.New(snap, server).After(forecast.Changes{Apply: manifests(t, server, name, pod)})
		if err != nil {
			t.Fatal(err)
		}
		snap = after
	}
	seen := map[types.UID]string{}
	world, err := snap.World("any")
	if err != nil {
		t.Fatal(err)
	}
	world.Each(func(object client.Object) {
		if other, ok := seen[object.GetUID()]; ok {
			t.Errorf("%T %s and %s have UID %s", object, object.GetName(), other, object.GetUID())
		}
		seen[object.GetUID()] = object.GetName()
	})
	if len(world.Claims.List()) != 2 {
		t.Errorf("%d claims, want 2", len(world.Claims.List()))
	}
}

// flags adds one flag of allot plan to the Changes, and reports whether it is --capacity.
func flags(t *testing.T, changes *forecast.Changes, flag string) bool {
	t.Helper()
	name, value, _ := strings.Cut(flag, "=")
	switch name {
	case "--drain":
		changes.Drain = append(changes.Drain, value)
	case "--taint-device":
		changes.Taint = append(changes.Taint,
			forecast.DeviceTaint{Device: value, Effect: resourcev1.DeviceTaintEffectNoExecute})
	case "--delete":
		kind, object, _ := strings.Cut(value, "/")
		changes.Delete = append(changes.Delete, forecast.Ref{Kind: kind, Name: object})
	case "--add":
		like, number, _ := strings.Cut(value, "=")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		changes.Add = append(changes.Add, forecast.NodesLike{Like: like, Count: n})
	case "--priority":
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		priority := int32(n)
		changes.Priority = &priority
	case "--capacity":
		return true
	default:
		t.Fatalf("no flag %s", name)
	}
	return false
}
