package apiserver

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
)

// kubernetesKeys keeps objects below the keys that kube-apiserver gives them, so that each can be started on the other's etcd (R46).
type kubernetesKeys struct {
	generic.RESTOptionsGetter
}

// olderKeys are those of resources that had another name once.
var olderKeys = map[schema.GroupResource]string{
	{Resource: "nodes"}:    "minions",
	{Resource: "services"}: "services/specs",
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (k kubernetesKeys) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	opts, err := k.RESTOptionsGetter.GetRESTOptions(resource, example)
	opts.ResourcePrefix = resource.Resource
	if older, ok := olderKeys[resource]; ok {
		opts.ResourcePrefix = older
	}
	return opts, err
}
