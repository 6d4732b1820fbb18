package registry

import (
	"context"
	"fmt"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
	"github.com/allot-dev/allot/internal/features"
)

// deviceTaintRules has a clock for the time of effect changes. The versions before v1 have always
// accepted an update without a resource version.
func deviceTaintRules(now func() time.Time) entry {
	return &kind[resourcev1.DeviceTaintRule, *resourcev1.DeviceTaintRule]{
		names: names{
			group: resourceGroup, versions: []string{"v1", "v1beta2", "v1alpha3"}, cluster: true,
			plural: "devicetaintrules", singular: "devicetaintrule",
		},
		newList:         func() runtime.Object { return &resourcev1.DeviceTaintRuleList{} },
		defaults:        defaults.DeviceTaintRule(now),
		printer:         printers.DeviceTaintRule,
		class:           rbac.Cluster,
		gates:           []features.Gate{features.DeviceTaintRules},
		spec:            func(r *resourcev1.DeviceTaintRule) any { return &r.Spec },
		status:          func(r *resourcev1.DeviceTaintRule) any { return &r.Status },
		generation:      true,
		statusOnly:      true,
		needsVersion:    true,
		unconditionalIn: []string{"v1beta2", "v1alpha3"},

		validate:       validation.ValidateDeviceTaintRule,
		validateUpdate: validation.ValidateDeviceTaintRuleUpdate,
		validateStatus: validation.ValidateDeviceTaintRuleStatusUpdate,
		prepareUpdate: func(_ context.Context, r, old *resourcev1.DeviceTaintRule) {
			stampEffect(&r.Spec.Taint, &old.Spec.Taint, now)
		},
		warnings: func(r, old *resourcev1.DeviceTaintRule) []string {
			if !evictsEverywhere(r) || (old != nil && evictsEverywhere(old)) {
				return nil
			}
			return []string{
				fmt.Sprintf(
					"spec.deviceSelector: empty, so that all devices of the cluster get the taint %s, and with the effect NoExecute "+
						"every pod that uses a device and does not tolerate it is evicted; the effect None only counts them, in status.conditions",
					r.Spec.Taint.Key,
				),
			}
		},
	}
}

// stampEffect sets timeAdded to the time of a changed effect, from which tolerationSeconds count,
// unless the client sets both. Times are stored in seconds.
func stampEffect(taint, old *resourcev1.DeviceTaint, now func() time.Time) {
	if taint.Effect != old.Effect && taint.TimeAdded.Equal(old.TimeAdded) {
		taint.TimeAdded = &metav1.Time{Time: now().Truncate(time.Second)}
	}
}

// evictsEverywhere reports whether a selector is set and empty. Without a selector, no device is
// selected.
func evictsEverywhere(r *resourcev1.DeviceTaintRule) bool {
	s := r.Spec.DeviceSelector
	return s != nil && *s == (resourcev1.DeviceTaintSelector{}) &&
		r.Spec.Taint.Effect == resourcev1.DeviceTaintEffectNoExecute
}
