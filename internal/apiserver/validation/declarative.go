package validation

import (
	"context"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// generated is a function of Kubernetes' generated declarative validation. It also gets the old
// value, and skips what an update does not change.
type generated[T any] func(ctx context.Context, op operation.Operation, path *field.Path, obj, old *T) field.ErrorList

// declared runs a generated validation; old is nil for a new object.
//
// Its context is for cancellation only, and no rule of it waits for anything. Its
// options are the feature gates that rules ask for: allot serves these fields.
// Rules in alpha are not enforced, as in Kubernetes.
func declared[T any](rules generated[T], path *field.Path, obj, old *T) field.ErrorList {
	op := operation.Operation{
		Type:    operation.Create,
		Options: map[string]bool{"DRAPartitionableDevicesType": true, "PodGroupPreemptionPolicy": true},
	}
	if old != nil {
		op.Type = operation.Update
	}
	ctx := context.Background()
	return validate.FilterEnforcedDeclarativeErrors(ctx, rules(ctx, op, path, obj, old), true)
}
