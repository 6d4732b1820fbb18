package app

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	core "github.com/allot-dev/allot/api/core/v1"
)

// channelSink is a sink of events that forwards them to a channel.
type channelSink chan *corev1.Event

func (s channelSink) Create(event *corev1.Event) (*corev1.Event, error) {
	s <- event
	return event, nil
}

func (s channelSink) Update(event *corev1.Event) (*corev1.Event, error) { return event, nil }

func (s channelSink) Patch(event *corev1.Event, _ []byte) (*corev1.Event, error) { return event, nil }

// Events name their component, in both APIs, and nodes name themselves (P21).
func TestEventsNameTheirComponent(t *testing.T) {
	c := &component{broadcaster: record.NewBroadcaster()}
	defer c.broadcaster.Shutdown()
	events := make(channelSink, 1)
	c.broadcaster.StartRecordingToSink(eventSink{events})
	pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u"}}
	pod.Spec.NodeName = "n1"
	for want, record := range map[string]func(string){
		"job-controller": func(text string) {
			c.eventsOf("job-controller").Eventf(pod, corev1.EventTypeNormal, "Reason", "%s", text)
		},
		"kubelet": func(text string) { kubeletEvents{c}.Eventf(pod, corev1.EventTypeNormal, "Reason", "%s", text) },
	} {
		record(want)
		select {
		case event := <-events:
			host, instance := "", want+"-"
			if want == kubelet {
				host, instance = "n1", "n1"
			}
			if event.Source != (corev1.EventSource{Component: want, Host: host}) || event.ReportingController != want ||
				!strings.HasPrefix(event.ReportingInstance, instance) {
				t.Errorf("%s: source %v, reporting %q, %q", want, event.Source, event.ReportingController, event.ReportingInstance)
			}
		case <-time.After(time.Minute):
			t.Fatalf("no event of %s", want)
		}
	}
}
