package apiserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/allot-dev/allot/internal/apiserver"
	"github.com/allot-dev/allot/internal/features"
)

// TestFeatures switches features off and on again over one data directory, in the files of
// testdata/features (R45):
//
//	start [off=(GATE,…)] [on=(GATE,…)]  a server with these features off and on; the one before is stopped
//	served GROUP          the kinds of an API group, by version
//	create                manifests; answers what is stored of spec and status
//	patch KIND/NAME [status] [as=USER]  a merge patch
//	get KIND/NAME
func TestFeatures(t *testing.T) {
	datadriven.Walk(t, "testdata/features", func(t *testing.T, path string) {
		w := &featureServer{dir: t.TempDir()}
		defer func() { w.stop(t) }()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "start":
				w.stop(t)
				return w.start(t, d)
			case "served":
				return w.served(t, d.CmdArgs[0].Key)
			case "create":
				return w.create(t, d.Input)
			case "patch":
				return w.patch(t, d)
			case "get":
				kind, name, _ := strings.Cut(d.CmdArgs[0].Key, "/")
				return outcome(w.client(t, schema.ParseGroupKind(kind)).Get(t.Context(), name, metav1.GetOptions{}))
			}
			t.Fatalf("%s: unknown verb %s", d.Pos, d.Cmd)
			return ""
		})
	})
}

// featureServer is a server that is restarted with different features.
type featureServer struct {
	dir    string
	server *apiserver.Server
	mapper meta.RESTMapper
	user   string // the user of the requests; "" for an administrator
}

func (s *featureServer) stop(t *testing.T) {
	t.Helper()
	if s.server != nil {
		stopServer(t, s.server)
	}
	s.server = nil
}

func (s *featureServer) start(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var on features.Set
	for _, arg := range d.CmdArgs {
		for _, name := range arg.Vals {
			if err := on.Set(name + "=" + strconv.FormatBool(arg.Key == "on")); err != nil {
				t.Fatal(err)
			}
		}
	}
	var err error
	if s.server, err = apiserver.Start(t.Context(), apiserver.Config{DataDir: s.dir, UnsafeNoFsync: true,
		Features: on}); err != nil {
		t.Fatal(err)
	}
	groups, err := restmapper.GetAPIGroupResources(kubernetes.NewForConfigOrDie(s.server.Loopback()).Discovery())
	if err != nil {
		t.Fatal(err)
	}
	s.mapper = restmapper.NewDiscoveryRESTMapper(groups)
	return ""
}

func (s *featureServer) served(t *testing.T, group string) string {
	t.Helper()
	_, lists, err := kubernetes.NewForConfigOrDie(s.server.Loopback()).Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range lists {
		if strings.HasPrefix(l.GroupVersion, group+"/") {
			var names []string
			for _, r := range l.APIResources {
				if !strings.Contains(r.Name, "/") {
					names = append(names, r.Name)
				}
			}
			slices.Sort(names)
			out = append(out, l.GroupVersion+": "+strings.Join(names, " "))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n") + "\n"
}

// client returns a client for objects of a kind, in the namespace default if the kind is
// namespaced.
func (s *featureServer) client(t *testing.T, kind schema.GroupKind, versions ...string) dynamic.ResourceInterface {
	t.Helper()
	cfg := rest.CopyConfig(s.server.Loopback())
	cfg.Impersonate.UserName = s.user
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	mapping, err := s.mapper.RESTMapping(kind, versions...)
	if err != nil {
		t.Fatal(err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return client.Resource(mapping.Resource)
	}
	return client.Resource(mapping.Resource).Namespace("default")
}

func (s *featureServer) create(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	for _, obj := range parse(t, text) {
		kind, version := obj.GroupVersionKind().GroupKind(), obj.GroupVersionKind().Version
		if _, err := s.mapper.RESTMapping(kind, version); err != nil {
			fmt.Fprintf(&out, "%s is not served\n", kind)
			continue
		}
		out.WriteString(outcome(s.client(t, kind, version).Create(t.Context(), obj, metav1.CreateOptions{})))
	}
	return out.String()
}

func (s *featureServer) patch(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var sub []string
	if d.HasArg("status") {
		sub = []string{"status"}
	}
	d.MaybeScanArgs(t, "as", &s.user)
	defer func() { s.user = "" }()
	kind, name, _ := strings.Cut(d.CmdArgs[0].Key, "/")
	patch, err := yaml.YAMLToJSON([]byte(d.Input))
	if err != nil {
		t.Fatal(err)
	}
	client := s.client(t, schema.ParseGroupKind(kind))
	// A new role binding becomes effective after a short time.
	for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		obj, err := client.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}, sub...)
		if !apierrors.IsForbidden(err) || time.Since(start) > time.Minute {
			return outcome(obj, err)
		}
	}
}

// outcome returns the fields of an object that features control, or the rejected fields.
func outcome(obj *unstructured.Unstructured, err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil && len(status.Status().Details.Causes) > 0 {
		var out strings.Builder
		for _, c := range status.Status().Details.Causes {
			fmt.Fprintf(&out, "%s: %s\n", c.Field, c.Message)
		}
		return out.String()
	}
	if err != nil {
		return err.Error() + "\n"
	}
	var out []string
	for _, path := range [][]string{
		{"spec", "schedulingGroup"}, {"spec", "resourceClaims"}, {"spec", "template", "spec", "schedulingGroup"},
		{"spec", "reservedFor"}, {"spec", "parentCompositePodGroupName"}, {"spec", "compositePodGroupTemplates"},
		{"spec", "devices"}, {"spec", "extendedResourceName"}, {"status", "allocation"}, {"status", "devices"},
		{"status", "reservedFor"},
	} {
		if v, ok, _ := unstructured.NestedFieldNoCopy(obj.Object, path...); ok {
			text, err := json.Marshal(v)
			if err != nil {
				return err.Error()
			}
			out = append(out, "  "+strings.Join(path, ".")+" "+string(text))
		}
	}
	return strings.Join(append([]string{obj.GetKind() + "/" + obj.GetName()}, out...), "\n") + "\n"
}
