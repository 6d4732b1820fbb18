package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	testingclock "k8s.io/utils/clock/testing"
)

// TestApply applies the manifests of testdata/apply to a server that knows the usual kinds, and
// prints what was asked of it.
//
//	apply [refuse=NAME] [refuse-dry=NAME]: documents with such a name are refused, always or in dry runs only
//	objects: what is stored
func TestApply(t *testing.T) {
	datadriven.Walk(t, "testdata/apply", func(t *testing.T, path string) {
		s := newFakeServer()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "objects" {
				return s.list()
			}
			s.log, s.refuse, s.refuseReal = nil, "", ""
			d.MaybeScanArgs(t, "refuse", &s.refuse)
			d.MaybeScanArgs(t, "refuse-real", &s.refuseReal)
			manifests, errs := parse("file.yaml", []byte(d.Input))
			if len(errs) > 0 {
				return fmt.Sprintln(errs)
			}
			a := &applier{
				target: s,
				clock:  testingclock.NewFakeClock(metav1.Now().Time),
				report: func(ref Ref, outcome string) { s.log = append(s.log, "report "+ref.String()+" "+outcome) },
			}
			refs, err := a.apply(context.Background(), manifests)
			if err != nil {
				s.log = append(s.log, "error: "+err.Error())
			}
			return strings.Join(append(s.log, fmt.Sprintf("applied %d of %d", len(refs), len(manifests))), "\n") + "\n"
		})
	})
}

// fakeServer stores objects by kind, namespace and name.
type fakeServer struct {
	kinds              map[schema.GroupVersionKind]kind
	objects            map[string]*unstructured.Unstructured
	version            int
	log                []string
	refuse, refuseReal string
	fresh              int // how often a fresh kind is still unknown
}

func newFakeServer() *fakeServer {
	s := &fakeServer{kinds: map[schema.GroupVersionKind]kind{}, objects: map[string]*unstructured.Unstructured{}, fresh: 2}
	for _, k := range []struct {
		version, kind, resource string
		cluster                 bool
	}{
		{"v1", "Namespace", "namespaces", true}, {"v1", "Pod", "pods", false}, {"v1", "ConfigMap", "configmaps", false},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", true},
		{"scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", true},
		{"scheduling.k8s.io/v1alpha2", "Workload", "workloads", false},
		{"scheduling.k8s.io/v1alpha2", "PodGroup", "podgroups", false},
	} {
		gv, _ := schema.ParseGroupVersion(k.version)
		s.kinds[gv.WithKind(k.kind)] = kind{gv.WithResource(k.resource), !k.cluster}
	}
	return s
}

func (s *fakeServer) Kind(gvk schema.GroupVersionKind) (kind, error) {
	k, ok := s.kinds[gvk]
	if !ok {
		return kind{}, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	return k, nil
}

func fakeKey(k kind, namespace, name string) string {
	return k.resource.Resource + " " + strings.TrimPrefix(namespace+"/"+name, "/")
}

func (s *fakeServer) Get(_ context.Context, k kind, namespace, name string) (*unstructured.Unstructured, error) {
	if k.resource.Group == "example.com" && s.fresh > 0 {
		s.fresh--
		return nil, apierrors.NewGenericServerResponse(404, "get", k.resource.GroupResource(), name, "404 page not found", 0,
			true)
	}
	if obj, ok := s.objects[fakeKey(k, namespace, name)]; ok {
		return obj, nil
	}
	return nil, apierrors.NewNotFound(k.resource.GroupResource(), name)
}

func (s *fakeServer) Apply(
	_ context.Context, k kind, obj *unstructured.Unstructured, dry bool,
) (*unstructured.Unstructured, error) {
	key := fakeKey(k, obj.GetNamespace(), obj.GetName())
	verb := "apply"
	if dry {
		verb = "dry  "
	}
	policy, _, _ := unstructured.NestedMap(obj.Object, "spec", "schedulingPolicy")
	s.log = append(s.log, strings.TrimSuffix(fmt.Sprintf("%s %s %v", verb, key, policy), " map[]"))
	if obj.GetName() == s.refuse || !dry && obj.GetName() == s.refuseReal {
		return nil, apierrors.NewInvalid(
			schema.GroupKind{Group: k.resource.Group, Kind: obj.GetKind()},
			obj.GetName(),
			field.ErrorList{
				field.Invalid(field.NewPath("spec", "a").Index(1), "x",
					"must be y"), field.Required(field.NewPath("spec", "b"), ""),
			},
		)
	}
	if dry {
		return obj, nil
	}
	next := obj.DeepCopy()
	if have, ok := s.objects[key]; ok {
		next.SetResourceVersion(have.GetResourceVersion())
		if fmt.Sprint(next.Object) == fmt.Sprint(have.Object) {
			return have, nil
		}
	}
	s.version++
	next.SetResourceVersion(fmt.Sprint(s.version))
	s.objects[key] = next
	if isDefinition(obj) {
		for _, gvk := range definedKinds(obj) {
			s.kinds[gvk] = kind{gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s"), true}
		}
	}
	return next, nil
}

func (s *fakeServer) list() string {
	var out []string
	for key := range s.objects {
		out = append(out, key)
	}
	slices.Sort(out)
	return strings.Join(append(out, ""), "\n")
}
