package model_test

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
)

// Fields and values of a newer server that this version does not know are named (P32).
func TestUnknownFieldsAreNamed(t *testing.T) {
	exactly := func(edit func(*resourcev1.ExactDeviceRequest)) func(*resourcev1.DeviceClaim) {
		return func(c *resourcev1.DeviceClaim) { edit(c.Requests[0].Exactly) }
	}
	cases := map[string]func(*resourcev1.DeviceClaim){
		"": func(*resourcev1.DeviceClaim) {},
		"spec.devices.requests[0] (neither exactly nor firstAvailable)": func(c *resourcev1.DeviceClaim) { c.Requests[0].Exactly = nil },
		"spec.devices.requests[0].exactly.allocationMode": exactly(
			func(e *resourcev1.ExactDeviceRequest) { e.AllocationMode = "Future" },
		),
		"spec.devices.requests[0].exactly.selectors[1]": exactly(func(e *resourcev1.ExactDeviceRequest) {
			e.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: "true"}}, {}}
		}),
		"spec.devices.requests[0].firstAvailable[0].allocationMode": func(c *resourcev1.DeviceClaim) {
			c.Requests[0].Exactly = nil
			c.Requests[0].FirstAvailable = []resourcev1.DeviceSubRequest{
				{Name: "a", DeviceClassName: "gpu", AllocationMode: "Future"},
			}
		},
		"spec.devices.constraints[0]": func(c *resourcev1.DeviceClaim) {
			c.Constraints = make([]resourcev1.DeviceConstraint,
				1)
		},
		"spec.devices.config[0]": func(c *resourcev1.DeviceClaim) {
			c.Config = make([]resourcev1.DeviceClaimConfiguration,
				1)
		},
	}
	for want, edit := range cases {
		claim := &resource.ResourceClaim{}
		claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{
			{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", Count: 1}},
		}
		edit(&claim.Spec.Devices)
		got := ""
		if lack := model.ClaimFrom(claim).Unsupported; lack != nil {
			got = lack.Field
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestUnknownFieldOfClassIsNamed(t *testing.T) {
	class := &resourcev1.DeviceClass{}
	class.Spec.Selectors = make([]resourcev1.DeviceSelector, 1)
	if got := model.ClassFrom(class).Unknown; got != "spec.selectors[0]" {
		t.Errorf("got %q", got)
	}
	class.Spec.Selectors, class.Spec.Config = nil, make([]resourcev1.DeviceClassConfiguration, 1)
	if got := model.ClassFrom(class).Unknown; got != "spec.config[0]" {
		t.Errorf("got %q", got)
	}
}
