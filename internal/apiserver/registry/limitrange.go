package registry

import (
	"context"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

func limitRanges() entry {
	return &kind[corev1.LimitRange, *corev1.LimitRange]{
		names:          names{versions: v1, plural: "limitranges", singular: "limitrange", short: []string{"limits"}},
		newList:        func() runtime.Object { return &corev1.LimitRangeList{} },
		defaults:       defaults.LimitRange,
		printer:        printers.LimitRange,
		class:          rbac.ReadOnly,
		createOnUpdate: true,
		prepareCreate: func(_ context.Context, l *corev1.LimitRange) {
			if l.Name == "" {
				l.Name = uuid.NewString() // as in Kubernetes, where no other kind has a name of its own
			}
		},
		validate:       validation.ValidateLimitRange,
		validateUpdate: validation.ValidateLimitRangeUpdate,
	}
}
