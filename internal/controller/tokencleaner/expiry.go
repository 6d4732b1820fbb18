package tokencleaner

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"k8s.io/cluster-bootstrap/util/secrets"
)

// Expiry returns the time at which a secret must be deleted. ok is false if it is kept, or is being
// deleted already.
func Expiry(s *corev1.Secret) (at time.Time, ok bool) {
	if s.Type != bootstrapapi.SecretTypeBootstrapToken || s.DeletionTimestamp != nil {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339, secrets.GetData(s, bootstrapapi.BootstrapTokenExpirationKey))
	return at, err == nil
}
