package v1beta2

import upstream "k8s.io/api/resource/v1beta2"

// The API server warns clients about deprecated kinds, based on these methods. The results are
// those of upstream's types.

// APILifecycleDeprecated returns the release in which the kind was deprecated.
func (*ResourceClaim) APILifecycleDeprecated() (major, minor int) {
	return (&upstream.ResourceClaim{}).APILifecycleDeprecated()
}

// APILifecycleRemoved returns the release in which upstream no longer serves the kind.
func (*ResourceClaim) APILifecycleRemoved() (major, minor int) {
	return (&upstream.ResourceClaim{}).APILifecycleRemoved()
}

// APILifecycleDeprecated returns the release in which the kind was deprecated.
func (*ResourceClaimTemplate) APILifecycleDeprecated() (major, minor int) {
	return (&upstream.ResourceClaimTemplate{}).APILifecycleDeprecated()
}

// APILifecycleRemoved returns the release in which upstream no longer serves the kind.
func (*ResourceClaimTemplate) APILifecycleRemoved() (major, minor int) {
	return (&upstream.ResourceClaimTemplate{}).APILifecycleRemoved()
}
