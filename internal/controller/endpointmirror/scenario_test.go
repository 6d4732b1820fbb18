package endpointmirror

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/allot-dev/allot/internal/controller/controllertest"
	"github.com/allot-dev/allot/internal/controller/serviceslices"
)

// sliceStore is a cache with the index of serviceslices.
type sliceStore struct {
	controllertest.Store[*discoveryv1.EndpointSlice]
}

func (s sliceStore) ByIndex(_, key string) []*discoveryv1.EndpointSlice {
	return slices.DeleteFunc(s.List(), func(slice *discoveryv1.EndpointSlice) bool {
		return !slices.Contains(serviceslices.Keys(slice), key)
	})
}

// world is a server, a cache that lags behind it until sync, and a controller between the two.
type world struct {
	*controllertest.Journal
	*Controller
	endpoints, cachedEndpoints controllertest.Store[*legacy]
	services, cachedServices   controllertest.Store[*corev1.Service]
	slices, cachedSlices       sliceStore
	made                       int
}

func newWorld() *world {
	w := &world{
		Journal:   controllertest.NewJournal(serviceslices.GatherWindow),
		endpoints: controllertest.Store[*legacy]{}, cachedEndpoints: controllertest.Store[*legacy]{},
		services: controllertest.Store[*corev1.Service]{}, cachedServices: controllertest.Store[*corev1.Service]{},
		slices:       sliceStore{controllertest.Store[*discoveryv1.EndpointSlice]{}},
		cachedSlices: sliceStore{controllertest.Store[*discoveryv1.EndpointSlice]{}},
	}
	w.Controller = &Controller{
		endpoints: w.cachedEndpoints, services: w.cachedServices, write: w, events: w, queue: w,
		own: serviceslices.NewOwn(w.cachedSlices, controllerName),
	}
	return w
}

func (w *world) sync() {
	w.cachedServices.Follow(w.services, w.onService)
	w.cachedEndpoints.Follow(w.endpoints, w.onEndpoints)
	w.cachedSlices.Follow(w.slices.Store, w.onSlice)
}

func describe(s *discoveryv1.EndpointSlice) string {
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
	return fmt.Sprintf("%s %v %v labels=%v annotations=%v owners=%v", s.AddressType, addresses, ports, labels,
		s.Annotations, controllertest.Owners(s))
}

func (w *world) put(slice *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	slice = slice.DeepCopy()
	slice.Generation++
	w.Stamp(&slice.ObjectMeta)
	w.slices.Store[slice.Name] = slice
	return slice
}

func (w *world) CreateSlice(_ context.Context, slice *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, error) {
	if err := w.Refuse["create"]; err != nil {
		return nil, err
	}
	w.made++
	slice = slice.DeepCopy()
	slice.Name = slice.GenerateName + strconv.Itoa(w.made)
	w.Say("create %s: %s", slice.Name, describe(slice))
	return w.put(slice), nil
}

func (w *world) UpdateSlice(_ context.Context, slice *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, error) {
	live, ok := w.slices.Get("", slice.Name)
	if !ok || live.ResourceVersion != slice.ResourceVersion {
		return nil, apierrors.NewConflict(discoveryv1.Resource("endpointslices"), slice.Name, errors.New("changed"))
	}
	w.Say("update %s: %s", slice.Name, describe(slice))
	return w.put(slice), nil
}

func (w *world) DeleteSlice(_ context.Context, slice *discoveryv1.EndpointSlice) error {
	if _, ok := w.slices.Get("", slice.Name); !ok {
		return apierrors.NewNotFound(discoveryv1.Resource("endpointslices"), slice.Name)
	}
	w.Say("delete %s", slice.Name)
	delete(w.slices.Store, slice.Name)
	return nil
}

// The scenarios in testdata have these verbs, with a manifest as input where there is a colon:
//
//	endpoints name=web [many=1200]:   creates or changes Endpoints; many adds so many addresses
//	service name=web [selector]       creates or changes a Service
//	remove endpoints=web | service=web | slice=web-1
//	touch slice=web-1                 a user changes a slice
//	refuse verb=create [with=(text)]
//	reconcile name=web [lag]          prints writes and events
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "endpoints":
				doEndpoints(t, w, d)
			case "service":
				doService(t, w, d)
			case "remove":
				doRemove(t, w, d)
			case "touch":
				doTouch(t, w, d)
			case "refuse":
				w.DoRefuse(t, d)
			case "reconcile":
				return doReconcile(t, w, d)
			default:
				d.Fatalf(t, "no verb %q", d.Cmd)
			}
			w.sync()
			return w.Flush()
		})
	})
}

func doEndpoints(t *testing.T, w *world, d *datadriven.TestData) {
	var name string
	var many int
	d.ScanArgs(t, "name", &name)
	d.MaybeScanArgs(t, "many", &many)
	e := &legacy{}
	if err := yaml.UnmarshalStrict([]byte(d.Input), e); err != nil {
		d.Fatalf(t, "%v", err)
	}
	e.Name = name
	if live, ok := w.endpoints[name]; ok {
		e.UID = live.UID
	}
	for i := range many {
		address := legacyAddress{IP: fmt.Sprintf("10.1.%d.%d", i/250, i%250+1)}
		e.Subsets[0].Addresses = append(e.Subsets[0].Addresses, address)
	}
	w.Stamp(&e.ObjectMeta)
	w.endpoints[name] = e
}

func doService(t *testing.T, w *world, d *datadriven.TestData) {
	var name string
	d.ScanArgs(t, "name", &name)
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if live, ok := w.services[name]; ok {
		s = live.DeepCopy()
	}
	s.Spec.Selector = nil
	if d.HasArg("selector") {
		s.Spec.Selector = map[string]string{"app": name}
	}
	w.Stamp(&s.ObjectMeta)
	w.services[name] = s
}

func doRemove(t *testing.T, w *world, d *datadriven.TestData) {
	var endpoints, service, slice string
	for arg, into := range map[string]*string{"endpoints": &endpoints, "service": &service, "slice": &slice} {
		d.MaybeScanArgs(t, arg, into)
	}
	delete(w.endpoints, endpoints)
	delete(w.services, service)
	delete(w.slices.Store, slice)
}

func doTouch(t *testing.T, w *world, d *datadriven.TestData) {
	var name string
	d.ScanArgs(t, "slice", &name)
	slice, _ := w.slices.Get("", name)
	slice = slice.DeepCopy()
	slice.Endpoints = slice.Endpoints[:0]
	w.put(slice)
}

func doReconcile(t *testing.T, w *world, d *datadriven.TestData) string {
	var name string
	d.ScanArgs(t, "name", &name)
	err := w.Reconcile(context.Background(), types.NamespacedName{Namespace: "default", Name: name})
	out := w.Flush()
	if err != nil {
		out += fmt.Sprintf("error: %v\n", err)
	}
	if !d.HasArg("lag") {
		w.sync()
		clear(w.Queued) // by its own writes
	}
	return out
}
