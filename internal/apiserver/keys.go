package apiserver

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
)

// kubernetesKeys stores objects under the keys that kube-apiserver uses, so that either server can
// be started on the other's etcd (R46).
type kubernetesKeys struct {
	generic.RESTOptionsGetter
	other map[schema.GroupResource]string // keys that are not the plural
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (k kubernetesKeys) GetRESTOptions(
	resource schema.GroupResource, example runtime.Object,
) (generic.RESTOptions, error) {
	opts, err := k.RESTOptionsGetter.GetRESTOptions(resource, example)
	opts.ResourcePrefix = resource.Resource
	if other, ok := k.other[resource]; ok {
		opts.ResourcePrefix = other
	}
	return opts, err
}
