package registry

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

const networkingGroup = networkingv1.GroupName

// ipAddressResource is the resource of the reservations of cluster IPs.
var ipAddressResource = schema.GroupResource{Group: networkingGroup, Resource: "ipaddresses"}

// ipAddresses are the cluster IPs that Services hold.
func ipAddresses() entry {
	return &kind[networkingv1.IPAddress, *networkingv1.IPAddress]{
		names: names{
			group: networkingGroup, versions: v1, plural: "ipaddresses", singular: "ipaddress", short: []string{"ip"},
			cluster: true,
		},
		newList:  func() runtime.Object { return &networkingv1.IPAddressList{} },
		defaults: noDefaults[*networkingv1.IPAddress],
		printer:  printers.IPAddress,
		class:    rbac.Cluster,

		validate:       validation.ValidateIPAddress,
		validateUpdate: validation.ValidateIPAddressUpdate,
	}
}
