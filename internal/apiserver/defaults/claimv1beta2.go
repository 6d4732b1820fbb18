package defaults

import (
	"fmt"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	upstreamv1beta2 "k8s.io/api/resource/v1beta2"

	"github.com/allot-dev/allot/api"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1beta2 "github.com/allot-dev/allot/api/resource/v1beta2"
)

// v1beta2 has the fields of v1, and therefore its defaults.

// ResourceClaimV1beta2 sets the defaults of ResourceClaim before the conversion to v1.
func ResourceClaimV1beta2(claim *resourcev1beta2.ResourceClaim) {
	inV1(claim, &resource.ResourceClaim{}, ResourceClaim)
}

// ResourceClaimTemplateV1beta2 sets the defaults of the claims that are generated from it.
func ResourceClaimTemplateV1beta2(template *resourcev1beta2.ResourceClaimTemplate) {
	inV1(template, &resource.ResourceClaimTemplate{}, ResourceClaimTemplate)
}

// ResourceSliceV1beta2 does what ResourceSlice does, before the conversion to v1.
func ResourceSliceV1beta2(now func() time.Time) func(*upstreamv1beta2.ResourceSlice) {
	return func(slice *upstreamv1beta2.ResourceSlice) {
		inV1(slice, &resourcev1.ResourceSlice{}, ResourceSlice(now))
	}
}

// inV1 sets the defaults of an object in v1, and converts it back.
func inV1[Old, Hub any](object Old, hub Hub, set func(Hub)) {
	if err := api.Scheme.Convert(object, hub, nil); err != nil {
		panic(fmt.Sprintf("defaults: convert %T to v1: %v", object, err)) // the fields are the same
	}
	set(hub)
	if err := api.Scheme.Convert(hub, object, nil); err != nil {
		panic(fmt.Sprintf("defaults: convert %T to v1beta2: %v", hub, err))
	}
}
