package registry

import (
	upstreamv1alpha3 "k8s.io/api/resource/v1alpha3"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
	"github.com/allot-dev/allot/internal/features"
)

// resourcePoolStatusRequests are answered once, in the status (KEP-5677).
func resourcePoolStatusRequests() entry {
	return &kind[upstreamv1alpha3.ResourcePoolStatusRequest, *upstreamv1alpha3.ResourcePoolStatusRequest]{
		names: names{
			group: resourceGroup, versions: []string{"v1alpha3"}, cluster: true,
			plural: "resourcepoolstatusrequests", singular: "resourcepoolstatusrequest",
		},
		newList:      func() runtime.Object { return &upstreamv1alpha3.ResourcePoolStatusRequestList{} },
		defaults:     defaults.ResourcePoolStatusRequest,
		printer:      printers.ResourcePoolStatusRequest,
		class:        rbac.Cluster,
		gates:        []features.Gate{features.PoolStatus},
		spec:         func(r *upstreamv1alpha3.ResourcePoolStatusRequest) any { return &r.Spec },
		status:       func(r *upstreamv1alpha3.ResourcePoolStatusRequest) any { return &r.Status },
		statusOnly:   true,
		needsVersion: true,

		validate:       validation.ValidateResourcePoolStatusRequest,
		validateUpdate: validation.ValidateResourcePoolStatusRequestUpdate,
		validateStatus: validation.ValidateResourcePoolStatusRequestStatusUpdate,
	}
}
