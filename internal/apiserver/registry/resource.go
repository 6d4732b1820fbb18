package registry

import (
	"context"
	"regexp"
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	upstreamv1beta1 "k8s.io/api/resource/v1beta1"
	upstreamv1beta2 "k8s.io/api/resource/v1beta2"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	resourcev1beta1 "github.com/allot-dev/allot/api/resource/v1beta1"
	resourcev1beta2 "github.com/allot-dev/allot/api/resource/v1beta2"
	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
	"github.com/allot-dev/allot/internal/features"
)

const resourceGroup = "resource.k8s.io"

// resourceVersions are the versions of the kinds in v1; the first is stored.
func resourceVersions() []string { return []string{"v1", "v1beta2", "v1beta1"} }

func resourceClaims(g dependencies) entry {
	claims := &kind[resource.ResourceClaim, *resource.ResourceClaim]{
		names: names{
			group:    resourceGroup,
			versions: resourceVersions(),
			plural:   "resourceclaims",
			singular: "resourceclaim",
		},
		newList:  func() runtime.Object { return &resource.ResourceClaimList{} },
		defaults: defaults.ResourceClaim,
		olderDefaults: []defaultFunc{
			defaultsOf(&resourcev1beta2.ResourceClaimList{}, defaults.ResourceClaimV1beta2),
			defaultsOf(&resourcev1beta1.ResourceClaimList{}, defaults.ResourceClaimV1beta1),
		},
		printer:    printers.ResourceClaim,
		class:      rbac.ReadWrite,
		spec:       func(c *resource.ResourceClaim) any { return &c.Spec },
		status:     func(c *resource.ResourceClaim) any { return &c.Status },
		statusOnly: true,

		fieldIn:        claimField,
		validate:       validation.ValidateResourceClaim,
		validateUpdate: validation.ValidateResourceClaimUpdate,
		validateStatus: validation.ValidateResourceClaimStatusUpdate,
		warnings: func(c, old *resource.ResourceClaim) []string {
			return newSpecWarnings(old == nil, field.NewPath("spec"), &c.Spec)
		},
		prepareUpdate: func(_ context.Context, c, old *resource.ResourceClaim) {
			carryReservedFor(&c.Spec, &old.Spec)
		},
		prepareStatus: func(c, old *resource.ResourceClaim) {
			carryAnyPod(&c.Status, &old.Status)
			dropReleasedDevices(c, old)
		},
		wrapStatus: func(store *genericregistry.Store) rest.Storage {
			return newClaimStatus(store, g.alone, g.deviceRefused)
		},
	}
	if g.features.On(features.GranularStatusAuthorization) {
		claims.statusAccess = g.access.claimStatusAccess
	}
	return claims
}

// newSpecWarnings returns the warnings about a new spec. It is immutable, so that updates need no
// warnings.
func newSpecWarnings(created bool, path *field.Path, spec *resource.ResourceClaimSpec) []string {
	if !created {
		return nil
	}
	return validation.ClaimWarnings(path, spec)
}

// deviceID identifies a device or a share of a device.
type deviceID struct {
	driver, pool, device, share string
}

// dropReleasedDevices removes the device status of devices that are no longer allocated, so that
// clients that deallocate need not know it.
func dropReleasedDevices(c, old *resource.ResourceClaim) {
	if len(c.Status.Devices) == 0 || old.Status.Allocation == nil {
		return
	}
	released := map[deviceID]bool{}
	for i := range old.Status.Allocation.Devices.Results {
		released[resultID(&old.Status.Allocation.Devices.Results[i])] = true
	}
	if c.Status.Allocation != nil {
		for i := range c.Status.Allocation.Devices.Results {
			delete(released, resultID(&c.Status.Allocation.Devices.Results[i]))
		}
	}
	var kept []resourcev1.AllocatedDeviceStatus
	for _, d := range c.Status.Devices {
		if !released[statusID(&d)] {
			kept = append(kept, d)
		}
	}
	c.Status.Devices = kept
}

func statusID(d *resourcev1.AllocatedDeviceStatus) deviceID {
	id := deviceID{driver: d.Driver, pool: d.Pool, device: d.Device}
	if d.ShareID != nil {
		id.share = *d.ShareID
	}
	return id
}

func resultID(r *resourcev1.DeviceRequestAllocationResult) deviceID {
	id := deviceID{driver: r.Driver, pool: r.Pool, device: r.Device}
	if r.ShareID != nil {
		id.share = string(*r.ShareID)
	}
	return id
}

func resourceClaimTemplates() entry {
	return &kind[resource.ResourceClaimTemplate, *resource.ResourceClaimTemplate]{
		names: names{
			group:    resourceGroup,
			versions: resourceVersions(),
			plural:   "resourceclaimtemplates",
			singular: "resourceclaimtemplate",
		},
		newList:  func() runtime.Object { return &resource.ResourceClaimTemplateList{} },
		defaults: defaults.ResourceClaimTemplate,
		olderDefaults: []defaultFunc{
			defaultsOf(&resourcev1beta2.ResourceClaimTemplateList{}, defaults.ResourceClaimTemplateV1beta2),
			defaultsOf(&resourcev1beta1.ResourceClaimTemplateList{}, defaults.ResourceClaimTemplateV1beta1),
		},
		printer: printers.NameAndAge,
		class:   rbac.ReadWrite,

		fieldIn:        claimField,
		validate:       validation.ValidateResourceClaimTemplate,
		validateUpdate: validation.ValidateResourceClaimTemplateUpdate,
		warnings: func(t, old *resource.ResourceClaimTemplate) []string {
			return newSpecWarnings(old == nil, field.NewPath("spec", "spec"), &t.Spec.Spec)
		},
		prepareUpdate: func(_ context.Context, t, old *resource.ResourceClaimTemplate) {
			carryReservedFor(&t.Spec.Spec, &old.Spec.Spec)
		},
	}
}

func clusterResourceClaimTemplates() entry {
	return &kind[resourcev1alpha3.ClusterResourceClaimTemplate, *resourcev1alpha3.ClusterResourceClaimTemplate]{
		names: names{
			group: resourceGroup, versions: []string{"v1alpha3"}, cluster: true,
			plural: "clusterresourceclaimtemplates", singular: "clusterresourceclaimtemplate",
		},
		newList:  func() runtime.Object { return &resourcev1alpha3.ClusterResourceClaimTemplateList{} },
		defaults: defaults.ClusterResourceClaimTemplate,
		printer:  printers.NameAndAge,
		class:    rbac.ReadOnly,
		gates:    []features.Gate{features.ClusterTemplates},

		validate:       validation.ValidateClusterResourceClaimTemplate,
		validateUpdate: validation.ValidateClusterResourceClaimTemplateUpdate,
		warnings: func(t, old *resourcev1alpha3.ClusterResourceClaimTemplate) []string {
			return newSpecWarnings(old == nil, field.NewPath("spec", "spec"), &t.Spec.Spec)
		},
	}
}

func deviceClasses() entry {
	return &kind[resourcev1.DeviceClass, *resourcev1.DeviceClass]{
		names: names{
			group:    resourceGroup,
			versions: resourceVersions(),
			plural:   "deviceclasses",
			singular: "deviceclass",
			cluster:  true,
		},
		newList:    func() runtime.Object { return &resourcev1.DeviceClassList{} },
		defaults:   noDefaults[*resourcev1.DeviceClass],
		printer:    printers.NameAndAge,
		class:      rbac.Cluster,
		spec:       func(c *resourcev1.DeviceClass) any { return &c.Spec },
		generation: true,

		validate:       validation.ValidateDeviceClass,
		validateUpdate: validation.ValidateDeviceClassUpdate,
	}
}

func resourceSlices(now func() time.Time) entry {
	return &kind[resourcev1.ResourceSlice, *resourcev1.ResourceSlice]{
		names: names{
			group:    resourceGroup,
			versions: resourceVersions(),
			plural:   "resourceslices",
			singular: "resourceslice",
			cluster:  true,
		},
		newList:  func() runtime.Object { return &resourcev1.ResourceSliceList{} },
		defaults: defaults.ResourceSlice(now),
		olderDefaults: []defaultFunc{
			defaultsOf(&upstreamv1beta2.ResourceSliceList{}, defaults.ResourceSliceV1beta2(now)),
			defaultsOf(&upstreamv1beta1.ResourceSliceList{}, defaults.ResourceSliceV1beta1(now)),
		},
		printer:    printers.ResourceSlice,
		class:      rbac.Cluster,
		spec:       func(s *resourcev1.ResourceSlice) any { return &s.Spec },
		generation: true,

		fieldIn:        sliceField,
		validate:       validation.ValidateResourceSlice,
		validateUpdate: validation.ValidateResourceSliceUpdate,
		fields: func(s *resourcev1.ResourceSlice) fields.Set {
			node := ""
			if s.Spec.NodeName != nil {
				node = *s.Spec.NodeName
			}
			return fields.Set{
				resourcev1.ResourceSliceSelectorNodeName: node,
				resourcev1.ResourceSliceSelectorDriver:   s.Spec.Driver,
				resourcev1.ResourceSliceSelectorPoolName: s.Spec.Pool.Name,
			}
		},
		index: resourcev1.ResourceSliceSelectorNodeName,
	}
}

// claimField converts the field name of a stored claim or template to a version: in v1beta1 the
// fields of "exactly" are in the request itself.
func claimField(gv schema.GroupVersion, field string) string {
	if gv.Version != "v1beta1" {
		return field
	}
	return strings.Replace(field, ".exactly", "", 1)
}

// sliceDevice matches the path of a device in a slice.
var sliceDevice = regexp.MustCompile(`^spec\.devices\[\d+\]`)

// sliceField converts the field name of a stored slice to a version: in v1beta1 all fields of a
// device except its name are in "basic".
func sliceField(gv schema.GroupVersion, field string) string {
	device := sliceDevice.FindString(field)
	if gv.Version != "v1beta1" || device == "" || field == device || field == device+".name" {
		return field
	}
	return device + ".basic" + strings.TrimPrefix(field, device)
}
