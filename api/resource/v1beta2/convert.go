package v1beta2

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/dynamic-resource-allocation/api/v1beta2"

	"github.com/allot-dev/allot/api/internal/converters"
	resource "github.com/allot-dev/allot/api/resource/v1"
)

// SchemeGroupVersion is the group version that this package implements.
var SchemeGroupVersion = resourcev1beta2.SchemeGroupVersion

// AddToScheme registers the kinds of v1beta2 and their conversions to and from the hub.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(
		SchemeGroupVersion,
		&ResourceClaim{},
		&ResourceClaimList{},
		&ResourceClaimTemplate{},
		&ResourceClaimTemplateList{},
		&resourcev1beta2.DeviceClass{},
		&resourcev1beta2.DeviceClassList{},
		&resourcev1beta2.ResourceSlice{},
		&resourcev1beta2.ResourceSliceList{},
		&resourcev1.DeviceTaintRule{},
		&resourcev1.DeviceTaintRuleList{},
	)
	return converters.Add(
		scheme,
		converters.Between(claimToHub, claimFromHub),
		converters.Between(claimListToHub, claimListFromHub),
		converters.Between(templateToHub, templateFromHub),
		converters.Between(templateListToHub, templateListFromHub),
		converters.Between(
			upstream.Convert_v1beta2_DeviceClass_To_v1_DeviceClass,
			upstream.Convert_v1_DeviceClass_To_v1beta2_DeviceClass,
		),
		converters.Between(
			upstream.Convert_v1beta2_DeviceClassList_To_v1_DeviceClassList,
			upstream.Convert_v1_DeviceClassList_To_v1beta2_DeviceClassList,
		),
		converters.Between(
			upstream.Convert_v1beta2_ResourceSlice_To_v1_ResourceSlice,
			upstream.Convert_v1_ResourceSlice_To_v1beta2_ResourceSlice,
		),
		converters.Between(
			upstream.Convert_v1beta2_ResourceSliceList_To_v1_ResourceSliceList,
			upstream.Convert_v1_ResourceSliceList_To_v1beta2_ResourceSliceList,
		),
	)
}

func claimToHub(in *ResourceClaim, out *resource.ResourceClaim, s conversion.Scope) error {
	out.ObjectMeta = in.ObjectMeta
	if err := specToHub(&in.Spec, &out.Spec, s); err != nil {
		return err
	}
	was := in.Status.Upstream()
	var now resourcev1.ResourceClaimStatus
	if err := upstream.Convert_v1beta2_ResourceClaimStatus_To_v1_ResourceClaimStatus(&was, &now, s); err != nil {
		return err
	}
	out.Status = resource.ResourceClaimStatus{ReservedFor: now.ReservedFor, Devices: now.Devices}
	if now.Allocation != nil {
		out.Status.Allocation = &resource.AllocationResult{
			AllocationResult: *now.Allocation, ReservedForAnyPod: in.Status.Allocation.ReservedForAnyPod,
		}
	}
	return nil
}

func claimFromHub(in *resource.ResourceClaim, out *ResourceClaim, s conversion.Scope) error {
	out.ObjectMeta = in.ObjectMeta
	if err := specFromHub(&in.Spec, &out.Spec, s); err != nil {
		return err
	}
	was := in.Status.Upstream()
	var now resourcev1beta2.ResourceClaimStatus
	if err := upstream.Convert_v1_ResourceClaimStatus_To_v1beta2_ResourceClaimStatus(&was, &now, s); err != nil {
		return err
	}
	out.Status = ResourceClaimStatus{ReservedFor: now.ReservedFor, Devices: now.Devices}
	if now.Allocation != nil {
		out.Status.Allocation = &AllocationResult{
			AllocationResult:  *now.Allocation,
			ReservedForAnyPod: in.Status.Allocation.ReservedForAnyPod,
		}
	}
	return nil
}

func specToHub(in *ResourceClaimSpec, out *resource.ResourceClaimSpec, s conversion.Scope) error {
	if in.ReservedFor != nil {
		out.ReservedFor = &resourcev1.ResourceClaimConsumerReference{}
		if err := upstream.Convert_v1beta2_ResourceClaimConsumerReference_To_v1_ResourceClaimConsumerReference(in.ReservedFor,
			out.ReservedFor, s); err != nil {
			return err
		}
	}
	return upstream.Convert_v1beta2_ResourceClaimSpec_To_v1_ResourceClaimSpec(&in.ResourceClaimSpec,
		&out.ResourceClaimSpec, s)
}

func specFromHub(in *resource.ResourceClaimSpec, out *ResourceClaimSpec, s conversion.Scope) error {
	if in.ReservedFor != nil {
		out.ReservedFor = &resourcev1beta2.ResourceClaimConsumerReference{}
		if err := upstream.Convert_v1_ResourceClaimConsumerReference_To_v1beta2_ResourceClaimConsumerReference(in.ReservedFor,
			out.ReservedFor, s); err != nil {
			return err
		}
	}
	return upstream.Convert_v1_ResourceClaimSpec_To_v1beta2_ResourceClaimSpec(&in.ResourceClaimSpec,
		&out.ResourceClaimSpec, s)
}

func templateToHub(in *ResourceClaimTemplate, out *resource.ResourceClaimTemplate, s conversion.Scope) error {
	out.ObjectMeta, out.Spec.ObjectMeta = in.ObjectMeta, in.Spec.ObjectMeta
	return specToHub(&in.Spec.Spec, &out.Spec.Spec, s)
}

func templateFromHub(in *resource.ResourceClaimTemplate, out *ResourceClaimTemplate, s conversion.Scope) error {
	out.ObjectMeta, out.Spec.ObjectMeta = in.ObjectMeta, in.Spec.ObjectMeta
	return specFromHub(&in.Spec.Spec, &out.Spec.Spec, s)
}

func claimListToHub(in *ResourceClaimList, out *resource.ResourceClaimList, s conversion.Scope) error {
	out.ListMeta = in.ListMeta
	return converters.Items(in.Items, &out.Items, claimToHub, s)
}

func claimListFromHub(in *resource.ResourceClaimList, out *ResourceClaimList, s conversion.Scope) error {
	out.ListMeta = in.ListMeta
	return converters.Items(in.Items, &out.Items, claimFromHub, s)
}

func templateListToHub(
	in *ResourceClaimTemplateList, out *resource.ResourceClaimTemplateList, s conversion.Scope,
) error {
	out.ListMeta = in.ListMeta
	return converters.Items(in.Items, &out.Items, templateToHub, s)
}

func templateListFromHub(
	in *resource.ResourceClaimTemplateList, out *ResourceClaimTemplateList, s conversion.Scope,
) error {
	out.ListMeta = in.ListMeta
	return converters.Items(in.Items, &out.Items, templateFromHub, s)
}
