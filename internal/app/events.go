package app

import (
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"github.com/allot-dev/allot/api"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// Tools identify the component that sent an event by its name, so each part has the name of its
// counterpart in Kubernetes 1.37. source.component and reportingComponent are the same.

// kubelet is the component that sends the events about the containers of a pod. source.host is the
// node.
const kubelet = "kubelet"

// eventsOf returns a recorder whose events come from the component with this name.
func (c *component) eventsOf(name string) reconciler.Recorder {
	return c.broadcaster.NewRecorder(api.Scheme, corev1.EventSource{Component: name})
}

// kubeletEvents records the events of many nodes, each with the node as its host.
type kubeletEvents struct{ c *component }

func (k kubeletEvents) Eventf(object runtime.Object, eventtype, reason, messageFmt string, args ...any) {
	source := corev1.EventSource{Component: kubelet}
	switch o := object.(type) {
	case *core.Pod:
		source.Host = o.Spec.NodeName
	case *corev1.Node:
		source.Host = o.Name
	}
	k.c.broadcaster.NewRecorder(api.Scheme, source).Eventf(object, eventtype, reason, messageFmt, args...)
}

// eventSink adds the instance of the component to events without a host, as kube-scheduler does.
type eventSink struct{ record.EventSink }

func (s eventSink) Create(event *corev1.Event) (*corev1.Event, error) {
	if event.ReportingInstance == "" {
		event.ReportingInstance = event.ReportingController
		if host, err := os.Hostname(); err == nil {
			event.ReportingInstance += "-" + host
		}
		if most := 128; len(event.ReportingInstance) > most { // the limit of events.k8s.io
			event.ReportingInstance = event.ReportingInstance[:most]
		}
	}
	return s.EventSink.Create(event)
}
