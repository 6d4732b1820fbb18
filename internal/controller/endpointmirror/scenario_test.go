package endpointmirror

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/yaml"

	"github.com/allot-dev/allot/internal/controller/controllertest"
	"github.com/allot-dev/allot/internal/controller/serviceslices"
	"github.com/allot-dev/allot/internal/testkit/line"
)

// TestScenarios runs the files in testdata, with the verbs of controllertest and:
//
//	endpoints NAME [many=1200]   creates or changes Endpoints, by a manifest; many adds addresses
//	service NAME [selector]      creates or changes a Service
//	touch slice=NAME             a user changes a slice
func TestScenarios(t *testing.T) { controllertest.Walk(t, "testdata", newScenario) }

// sliceStore is a cache with the index of serviceslices.
type sliceStore struct {
	controllertest.Store[*discoveryv1.EndpointSlice]
}

func (s sliceStore) ByIndex(_, key string) []*discoveryv1.EndpointSlice {
	return slices.DeleteFunc(s.List(), func(slice *discoveryv1.EndpointSlice) bool {
		return !slices.Contains(serviceslices.Keys(slice), key)
	})
}

// world is the objects of a scenario.
type world struct {
	*controllertest.Scenario
	endpoints *controllertest.Kind[*legacy]
	services  *controllertest.Kind[*corev1.Service]
	slices    *controllertest.Kind[*discoveryv1.EndpointSlice]
}

func newScenario() *controllertest.Scenario {
	s := controllertest.New("web", serviceslices.GatherWindow)
	w := &world{
		Scenario:  s,
		services:  controllertest.NewKind[*corev1.Service](s, "service", corev1.Resource("services")),
		endpoints: controllertest.NewKind[*legacy](s, "endpoints", corev1.Resource("endpoints")),
		slices:    controllertest.NewKind[*discoveryv1.EndpointSlice](s, "slice", discoveryv1.Resource("endpointslices")),
	}
	c := &Controller{
		endpoints: w.endpoints.Cache, services: w.services.Cache, write: w.slices, events: w, queue: w,
		own: serviceslices.NewOwn(sliceStore{w.slices.Cache}, controllerName),
	}
	s.Reconcile = c.Reconcile
	s.Commands["endpoints"], s.Objects["service"], s.Objects["touch"] = w.putEndpoints, w.putService, w.touch
	w.services.OnChange, w.endpoints.OnChange, w.slices.OnChange = c.onService, c.onEndpoints, c.onSlice
	w.slices.Texts = map[string]func(_, _ *discoveryv1.EndpointSlice) string{"create": sliceText, "update": sliceText}
	w.slices.Complete = func(slice *discoveryv1.EndpointSlice) { slice.Generation = 1 }
	return s
}

func sliceText(_, s *discoveryv1.EndpointSlice) string {
	var addresses, ports []string
	for _, e := range s.Endpoints {
		text := strings.Join(e.Addresses, "+")
		if !*e.Conditions.Ready {
			text += "(not ready)"
		}
		addresses = append(addresses, text)
	}
	if len(addresses) > 5 {
		addresses = []string{addresses[0], "…", fmt.Sprintf("%d addresses", len(addresses))}
	}
	for _, p := range s.Ports {
		ports = append(ports, fmt.Sprintf("%s:%d", *p.Name, *p.Port))
	}
	labels := maps.Clone(s.Labels)
	delete(labels, discoveryv1.LabelManagedBy)
	return fmt.Sprintf(": %s %v %v labels=%v annotations=%v owners=%v", s.AddressType, addresses, ports, labels,
		s.Annotations, controllertest.Owners(s))
}

func (w *world) putEndpoints(l *line.Line) {
	e := &legacy{}
	if err := yaml.UnmarshalStrict([]byte(l.Input), e); err != nil {
		l.Failf("%w", err)
	}
	e.Name = l.Name()
	if live, ok := w.endpoints.Server[e.Name]; ok {
		e.UID = live.UID
	}
	for i := range l.Number("many", 0) {
		address := legacyAddress{IP: fmt.Sprintf("10.1.%d.%d", i/250, i%250+1)}
		e.Subsets[0].Addresses = append(e.Subsets[0].Addresses, address)
	}
	w.endpoints.Put(e)
}

func (w *world) putService(l *line.Line) {
	s := w.services.Edit(l.Name(), func() *corev1.Service { return &corev1.Service{} })
	s.Spec.Selector = nil
	if l.Has("selector") {
		s.Spec.Selector = map[string]string{"app": s.Name}
	}
	w.services.Put(s)
}

func (w *world) touch(l *line.Line) {
	slice := w.slices.Server[l.Text("slice", "")].DeepCopy()
	slice.Endpoints = nil
	slice.Generation++
	w.slices.Put(slice)
}
