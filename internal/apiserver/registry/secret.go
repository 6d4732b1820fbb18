package registry

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// keepSecretType lets a client leave the immutable type out of an update.
func keepSecretType(_ context.Context, obj, old *corev1.Secret) {
	if obj.Type == "" {
		obj.Type = old.Type
	}
}

func secretFields(s *corev1.Secret) fields.Set {
	return fields.Set{"type": string(s.Type)}
}
