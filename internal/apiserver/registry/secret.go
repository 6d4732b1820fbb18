package registry

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// keepSecretType restores the immutable type if a client omits it in an update.
func keepSecretType(_ context.Context, obj, old *corev1.Secret) {
	if obj.Type == "" {
		obj.Type = old.Type
	}
}

// nameSecrets drops everything but the names of the secrets that a ServiceAccount lists.
func nameSecrets(account *corev1.ServiceAccount) {
	for i := range account.Secrets {
		account.Secrets[i] = corev1.ObjectReference{Name: account.Secrets[i].Name}
	}
}

func secretFields(s *corev1.Secret) fields.Set {
	return fields.Set{"type": string(s.Type)}
}
