package judge

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/allot-dev/allot/internal/apiserver"
	"github.com/allot-dev/allot/internal/apiserver/registry"
)

// Allot returns allot's API server with all features on, and the served versions of each resource.
func Allot() (*Server, map[schema.GroupResource][]string, error) {
	scheme, err := apiserver.NewScheme()
	if err != nil {
		return nil, nil, err
	}
	rules, versions := map[schema.GroupResource]Rules{}, map[schema.GroupResource][]string{}
	tables := map[schema.GroupKind]rest.TableConvertor{}
	for resource, r := range registry.RulesByResource(scheme) {
		rules[resource] = Rules{Create: r.Create, Update: r.Update, Status: r.Status}
		versions[resource] = r.Versions
		tables[r.Kind.GroupKind()] = r.Printer.Convertor(resource, time.Now)
	}
	// Events are stored as those of core, and are served in a second group.
	core, newer := corev1.Resource("events"), schema.GroupResource{Group: eventsv1.GroupName, Resource: "events"}
	rules[newer], versions[newer] = rules[core], []string{eventsv1.SchemeGroupVersion.Version}
	tables[schema.GroupKind{Group: newer.Group, Kind: "Event"}] = tables[schema.GroupKind{Kind: "Event"}]
	return &Server{
		Name: "allot", Scheme: scheme, Codecs: serializer.NewCodecFactory(scheme), Rules: rules,
		Table: func(gvk schema.GroupVersionKind, obj runtime.Object) (*metav1.Table, error) {
			return tables[gvk.GroupKind()].ConvertToTable(context.Background(), obj, nil)
		},
	}, versions, nil
}
