package printers

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
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	upstreamv1alpha3 "k8s.io/api/resource/v1alpha3"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	cliprinters "k8s.io/cli-runtime/pkg/printers"

	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

var rewrite = flag.Bool("rewrite", false, "write the results into testdata")

func noon() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }

// TestGolden prints each list in testdata as kubectl does, narrow and wide.
func TestGolden(t *testing.T) {
	decoder := serializer.NewCodecFactory(testScheme()).UniversalDeserializer()
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
			table, err := convertorFor(kind, noon).ConvertToTable(t.Context(), list, nil)
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
	pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: "7"}, Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}
	table, err := For(corev1.SchemeGroupVersion.WithKind("Pod")).ConvertToTable(t.Context(), pod, &metav1.TableOptions{NoHeaders: true})
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
	if len(row.Conditions) != 1 || row.Conditions[0].Type != metav1.RowCompleted || row.Conditions[0].Reason != "Succeeded" {
		t.Errorf("got conditions %v, want Completed because Succeeded", row.Conditions)
	}
}

func TestListMetaIsKept(t *testing.T) {
	left := int64(3)
	list := &core.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "next", RemainingItemCount: &left}}
	table, err := For(corev1.SchemeGroupVersion.WithKind("Pod")).ConvertToTable(t.Context(), list, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list.ListMeta, table.ListMeta); diff != "" {
		t.Errorf("list metadata (-want +got):\n%s", diff)
	}
}

func TestUnknownKindsShowNameAndAge(t *testing.T) {
	for kind, obj := range map[string]runtime.Object{
		"ServiceAccount": &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "x"}},
		"Pod":            &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "x"}},
	} {
		table, err := For(corev1.SchemeGroupVersion.WithKind(kind)).ConvertToTable(t.Context(), obj, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(table.Rows[0].Cells[0]); got != "x" {
			t.Errorf("%s: got %s first, want the name", kind, got)
		}
	}
}

func testScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	add := func(group, version string, objs ...runtime.Object) {
		scheme.AddKnownTypes(schema.GroupVersion{Group: group, Version: version}, objs...)
	}
	add("", "v1", &core.PodList{}, &corev1.NodeList{}, &corev1.NamespaceList{}, &corev1.EventList{}, &corev1.ConfigMapList{},
		&corev1.SecretList{}, &corev1.ServiceAccountList{}, &corev1.ServiceList{},
		&corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolumeList{})
	add("coordination.k8s.io", "v1", &coordinationv1.LeaseList{})
	add("apps", "v1", &apps.DeploymentList{}, &apps.ReplicaSetList{}, &apps.StatefulSetList{}, &apps.DaemonSetList{},
		&appsv1.ControllerRevisionList{})
	add("batch", "v1", &batch.JobList{})
	add("policy", "v1", &policyv1.PodDisruptionBudgetList{})
	add("scheduling.k8s.io", "v1", &schedulingv1.PriorityClassList{})
	add("scheduling.k8s.io", "v1beta1", &scheduling.PodGroupList{}, &scheduling.WorkloadList{})
	add("resource.k8s.io", "v1", &resource.ResourceClaimList{}, &resource.ResourceClaimTemplateList{}, &resourcev1.ResourceSliceList{},
		&resourcev1.DeviceClassList{}, &resourcev1.DeviceTaintRuleList{})
	add("resource.k8s.io", "v1alpha3", &upstreamv1alpha3.ResourcePoolStatusRequestList{})
	add("rbac.authorization.k8s.io", "v1", &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{})
	return scheme
}
