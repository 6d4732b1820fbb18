package printers_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/rest"
	cliprinters "k8s.io/cli-runtime/pkg/printers"

	"github.com/allot-dev/allot/api"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/registry"
)

var rewrite = flag.Bool("rewrite", false, "write the results into testdata")

func noon() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }

// TestGolden prints each list in testdata as kubectl does, with and without -o wide.
func TestGolden(t *testing.T) {
	scheme := api.NewScheme()
	decoder, printed := serializer.NewCodecFactory(scheme).UniversalDeserializer(), map[schema.GroupKind]bool{}
	files, _ := filepath.Glob("testdata/*.yaml")
	if len(files) == 0 {
		t.Fatal("no manifests in testdata")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			in, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			list, gvk, err := decoder.Decode(in, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			kind := schema.GroupKind{Group: gvk.Group, Kind: strings.TrimSuffix(gvk.Kind, "List")}
			printed[kind] = true
			table, err := convertor(t, kind).ConvertToTable(t.Context(), list, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, row := range table.Rows {
				if len(row.Cells) != len(table.ColumnDefinitions) {
					t.Errorf("row %d has %d cells for %d columns", i, len(row.Cells), len(table.ColumnDefinitions))
				}
			}
			for _, c := range table.ColumnDefinitions {
				if c.Description == "" {
					t.Errorf("column %s says nothing", c.Name)
				}
			}
			compare(t, strings.TrimSuffix(file, ".yaml")+".golden", render(t, table, false)+"\n"+render(t, table, true))
		})
	}
	for resource, rules := range registry.RulesByResource(scheme) {
		if !printed[rules.Kind.GroupKind()] {
			t.Errorf("testdata has no list of %s", resource)
		}
	}
}

// convertor returns the table convertor of a served kind.
func convertor(t *testing.T, kind schema.GroupKind) rest.TableConvertor {
	t.Helper()
	for resource, rules := range registry.RulesByResource(api.NewScheme()) {
		if rules.Kind.GroupKind() == kind {
			return rules.Printer.Convertor(resource, noon)
		}
	}
	t.Fatalf("%s is not served", kind)
	return nil
}

func render(t *testing.T, table *metav1.Table, wide bool) string {
	t.Helper()
	var out bytes.Buffer
	if err := cliprinters.NewTablePrinter(cliprinters.PrintOptions{Wide: wide}).PrintObj(table, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -rewrite accepts it):\n%s", file, diff)
	}
}

func TestOneObject(t *testing.T) {
	pod := &core.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: "7"},
		Status:     corev1.PodStatus{Phase: corev1.PodSucceeded},
	}
	table, err := printers.Pod().Convertor(schema.GroupResource{Resource: "pods"}, noon).ConvertToTable(
		t.Context(),
		pod,
		&metav1.TableOptions{NoHeaders: true},
	)
	if err != nil {
		t.Fatal(err)
	}
	if table.ColumnDefinitions != nil || len(table.Rows) != 1 || table.ResourceVersion != "7" {
		t.Errorf("got %d columns, %d rows, version %q; want no columns, one row, version 7",
			len(table.ColumnDefinitions), len(table.Rows), table.ResourceVersion)
	}
	row := table.Rows[0]
	if row.Object.Object != runtime.Object(pod) {
		t.Error("the row does not carry the pod")
	}
	if len(row.Conditions) != 1 || row.Conditions[0].Type != metav1.RowCompleted ||
		row.Conditions[0].Reason != "Succeeded" {
		t.Errorf("got conditions %v, want Completed because Succeeded", row.Conditions)
	}
}

func TestListMetaIsKept(t *testing.T) {
	left := int64(3)
	list := &core.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "next", RemainingItemCount: &left}}
	table, err := printers.Pod().Convertor(schema.GroupResource{Resource: "pods"}, noon).ConvertToTable(
		t.Context(),
		list,
		nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list.ListMeta, table.ListMeta); diff != "" {
		t.Errorf("list metadata (-want +got):\n%s", diff)
	}
}

// TestOtherKindsShowNameAndAge checks that an object of a kind without a printer is printed with
// its name and age.
func TestOtherKindsShowNameAndAge(t *testing.T) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	for _, printer := range []printers.Printer{printers.NameAndAge(), printers.Pod()} {
		table, err := printer.Convertor(schema.GroupResource{Resource: "pods"}, noon).ConvertToTable(
			t.Context(),
			account,
			nil,
		)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(table.Rows[0].Cells[0]); got != "x" {
			t.Errorf("got %s first, want the name", got)
		}
	}
}
