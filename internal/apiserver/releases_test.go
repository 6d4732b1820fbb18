package apiserver_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/allot-dev/allot/internal/apiserver"
)

// releasedKinds are the kinds of the objects that are read, with the key in etcd, the resource, and
// whether the kind is namespaced.
var releasedKinds = map[schema.GroupKind]struct {
	key, resource string
	namespaced    bool
}{
	{Kind: "Pod"}:                                     {"pods", "pods", true},
	{Kind: "Node"}:                                    {"minions", "nodes", false},
	{Group: "apps", Kind: "Deployment"}:               {"deployments", "deployments", true},
	{Group: "apps", Kind: "ReplicaSet"}:               {"replicasets", "replicasets", true},
	{Group: "apps", Kind: "DaemonSet"}:                {"daemonsets", "daemonsets", true},
	{Group: "apps", Kind: "StatefulSet"}:              {"statefulsets", "statefulsets", true},
	{Group: "batch", Kind: "Job"}:                     {"jobs", "jobs", true},
	{Group: "scheduling.k8s.io", Kind: "PodGroup"}:    {"podgroups", "podgroups", true},
	{Group: "scheduling.k8s.io", Kind: "Workload"}:    {"workloads", "workloads", true},
	{Group: "resource.k8s.io", Kind: "ResourceClaim"}: {"resourceclaims", "resourceclaims", true},
	{Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"}: {
		"resourceclaimtemplates",
		"resourceclaimtemplates",
		true,
	},
	{Group: "resource.k8s.io", Kind: "DeviceClass"}:     {"deviceclasses", "deviceclasses", false},
	{Group: "resource.k8s.io", Kind: "ResourceSlice"}:   {"resourceslices", "resourceslices", false},
	{Group: "resource.k8s.io", Kind: "DeviceTaintRule"}: {"devicetaintrules", "devicetaintrules", false},
	{Group: "resource.k8s.io", Kind: "ResourcePoolStatusRequest"}: {
		"resourcepoolstatusrequests",
		"resourcepoolstatusrequests",
		false,
	},
}

// releasedObject is an object as a release of Kubernetes stored it, and as it returned it.
type releasedObject struct {
	kind        schema.GroupVersionKind
	name        string
	shown       map[string]any
	key, binary string
}

// TestReleasesOfKubernetes checks that objects with all fields set, as Kubernetes 1.34 to 1.37
// stored them in each version, are listed and returned in each served version, and in their own
// version with all fields (R46). test/peer/cluster compares with the result of Kubernetes 1.37.
func TestReleasesOfKubernetes(t *testing.T) {
	cfg := apiserver.Config{DataDir: t.TempDir(), UnsafeNoFsync: true}
	objects := releasedObjects(t)
	data := map[string]string{}
	for _, o := range objects {
		data[o.key] = o.binary
	}
	if len(data) != len(objects) || len(objects) < 80 {
		t.Fatalf("%d objects with %d keys", len(objects), len(data))
	}
	putStored(t, cfg.DataDir, data)
	server := startServer(t, cfg)
	client, err := dynamic.NewForConfig(server.Loopback())
	if err != nil {
		t.Fatal(err)
	}
	versions := servedVersions(t, clientset(t, server.Loopback()).Discovery())
	compared := 0
	for _, o := range objects {
		kind := releasedKinds[o.kind.GroupKind()]
		namespace := ""
		if kind.namespaced {
			namespace = "namespaceValue"
		}
		for _, version := range versions[o.kind.GroupKind()] {
			gvr := schema.GroupVersionResource{Group: o.kind.Group, Version: version, Resource: kind.resource}
			if list, err := client.Resource(gvr).List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) == 0 {
				t.Fatalf("list %s: %v", gvr, err)
			}
			got, err := client.Resource(gvr).Namespace(namespace).Get(t.Context(), o.name, metav1.GetOptions{})
			if err != nil {
				t.Errorf("%s as %s: %v", o.kind, version, err)
				continue
			}
			if version != o.kind.Version {
				continue
			}
			for _, part := range []string{"spec", "status"} {
				compared++
				for _, lost := range missingPaths(part, o.shown[part], got.Object[part]) {
					t.Errorf("%s %s: %s", o.kind, o.name, lost)
				}
			}
		}
	}
	if compared < 2*70 {
		t.Errorf("%d parts of objects were compared", compared)
	}
}

// derived matches fields that are computed from others, in Kubernetes as well, and one whose value
// in the files is not valid.
var derived = regexp.MustCompile(
	`spec\.serviceAccount$|^spec\.podCIDRs\[0]$|^status\.podIPs\[0]\.ip$|\.disruptionMode$`,
)

// releasedObjects reads the files that k8s.io/api has of each release. Each object gets a unique
// name of the same length.
func releasedObjects(t *testing.T) []releasedObject {
	t.Helper()
	var found []releasedObject
	for _, release := range []string{"v1.34.0", "v1.35.0", "v1.36.0", "HEAD"} {
		files, err := filepath.Glob(filepath.Join(fixtures(t), release, "*.pb"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no objects of %s: %v", release, err)
		}
		for _, file := range files {
			if strings.Contains(file, "after_roundtrip") {
				continue
			}
			parts := strings.Split(strings.TrimSuffix(filepath.Base(file), ".pb"), ".")
			n := len(parts)
			o := releasedObject{name: fmt.Sprintf("name-%04d", len(found))}
			o.kind = schema.GroupVersionKind{
				Group:   strings.TrimPrefix(strings.Join(parts[:n-2], "."), "core"),
				Version: parts[n-2],
				Kind:    parts[n-1],
			}
			kind, ok := releasedKinds[o.kind.GroupKind()]
			if !ok ||
				slices.Contains([]string{"apps/v1beta1", "apps/v1beta2"},
					o.kind.GroupVersion().String()) { // 1.37 does not read these either
				continue
			}
			o.binary = strings.ReplaceAll(readFile(t, file), "nameValue", o.name)
			shown := strings.TrimSuffix(file,
				".pb") + ".after_roundtrip.json" // without alpha fields that 1.37 no longer has
			if _, err := os.Stat(shown); err != nil {
				shown = strings.TrimSuffix(file, ".pb") + ".json"
			}
			if err := json.Unmarshal([]byte(strings.ReplaceAll(readFile(t, shown), "nameValue", o.name)), &o.shown); err != nil {
				t.Fatal(err)
			}
			o.key = "/registry/" + kind.key + "/" + o.name
			if kind.namespaced {
				o.key = "/registry/" + kind.key + "/namespaceValue/" + o.name
			}
			found = append(found, o)
		}
	}
	return found
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// missingPaths returns the paths of fields that are missing or have another value.
func missingPaths(path string, was, is any) []string {
	if was == nil || derived.MatchString(path) {
		return nil
	}
	switch was := was.(type) {
	case map[string]any:
		now, _ := is.(map[string]any)
		var lost []string
		for name, value := range was {
			lost = append(lost, missingPaths(path+"."+name, value, now[name])...)
		}
		return lost
	case []any:
		now, _ := is.([]any)
		if len(now) != len(was) {
			return []string{fmt.Sprintf("%s had %d entries and has %d", path, len(was), len(now))}
		}
		var lost []string
		for i := range was {
			lost = append(lost, missingPaths(fmt.Sprintf("%s[%d]", path, i), was[i], now[i])...)
		}
		return lost
	}
	if fmt.Sprint(was) != fmt.Sprint(is) {
		return []string{fmt.Sprintf("%s was %v and is %v", path, was, is)}
	}
	return nil
}

// servedVersions returns the served versions of each kind.
func servedVersions(t *testing.T, server discovery.DiscoveryInterface) map[schema.GroupKind][]string {
	t.Helper()
	_, lists, err := server.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	versions := map[schema.GroupKind][]string{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				kind := schema.GroupKind{Group: gv.Group, Kind: r.Kind}
				versions[kind] = append(versions[kind], gv.Version)
			}
		}
	}
	return versions
}
