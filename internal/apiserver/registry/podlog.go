package registry

import (
	"context"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericrest "k8s.io/apiserver/pkg/registry/generic/rest"
	"k8s.io/apiserver/pkg/registry/rest"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// podLog serves the logs of a container of a pod.
type podLog struct{ kubelets }

var (
	_ rest.GetterWithOptions = &podLog{}
	_ rest.StorageMetadata   = &podLog{}
)

// New implements rest.Storage.
func (l *podLog) New() runtime.Object { return &core.Pod{} }

// Destroy implements rest.Storage; the store belongs to the pods.
func (l *podLog) Destroy() {}

// ProducesMIMETypes implements rest.StorageMetadata.
func (l *podLog) ProducesMIMETypes(string) []string { return []string{"text/plain"} }

// ProducesObject implements rest.StorageMetadata.
func (l *podLog) ProducesObject(string) any { return "" }

// NewGetOptions implements rest.GetterWithOptions.
func (l *podLog) NewGetOptions() (runtime.Object, bool, string) {
	return &corev1.PodLogOptions{}, false, ""
}

// Get returns a streamer of the log.
func (l *podLog) Get(ctx context.Context, name string, options runtime.Object) (runtime.Object, error) {
	o, ok := options.(*corev1.PodLogOptions)
	if !ok {
		return nil, apierrors.NewBadRequest("these are no options for logs")
	}
	if o.Stream == nil {
		o.Stream = new(corev1.LogStreamAll)
	}
	if errs := validation.ValidatePodLogOptions(o); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "PodLogOptions"}, name, errs)
	}
	pod, err := l.pod(ctx, name)
	if err != nil {
		return nil, err
	}
	container, err := containerOf(pod, o.Container)
	if err != nil {
		return nil, err
	}
	streamer := &genericrest.LocationStreamer{
		Transport: l.transport, ContentType: "text/plain", Flush: o.Follow,
		ResponseChecker: genericrest.NewGenericHttpResponseChecker(corev1.Resource("pods/log"), name),
		RedirectChecker: genericrest.PreventRedirects,
	}
	if pod.Spec.NodeName == "" {
		return streamer, nil // which is empty
	}
	_, location, err := l.kubeletOf(ctx, pod, "no logs")
	if err != nil {
		return nil, err
	}
	location.Path = "/containerLogs/" + pod.Namespace + "/" + pod.Name + "/" + container
	location.RawQuery = logParameters(o).Encode()
	streamer.Location = location
	return streamer, nil
}

func logParameters(o *corev1.PodLogOptions) url.Values {
	out := url.Values{"stream": {*o.Stream}}
	for name, on := range map[string]bool{"follow": o.Follow, "previous": o.Previous, "timestamps": o.Timestamps} {
		if on {
			out.Set(name, "true")
		}
	}
	for name, n := range map[string]*int64{
		"sinceSeconds": o.SinceSeconds, "tailLines": o.TailLines, "limitBytes": o.LimitBytes,
	} {
		if n != nil {
			out.Set(name, strconv.FormatInt(*n, 10))
		}
	}
	if o.SinceTime != nil {
		out.Set("sinceTime", o.SinceTime.Format(time.RFC3339))
	}
	return out
}
