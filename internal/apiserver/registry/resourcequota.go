package registry

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

func resourceQuotas() entry {
	return &kind[corev1.ResourceQuota, *corev1.ResourceQuota]{
		names:          names{versions: v1, plural: "resourcequotas", singular: "resourcequota", short: []string{"quota"}},
		newList:        func() runtime.Object { return &corev1.ResourceQuotaList{} },
		defaults:       defaults.ResourceQuota,
		printer:        printers.ResourceQuota,
		class:          rbac.ReadOnly,
		spec:           func(q *corev1.ResourceQuota) any { return &q.Spec },
		status:         func(q *corev1.ResourceQuota) any { return &q.Status },
		createOnUpdate: true,

		validate:       validation.ValidateResourceQuota,
		validateUpdate: validation.ValidateResourceQuotaUpdate,
		validateStatus: validation.ValidateResourceQuotaStatusUpdate,
	}
}
