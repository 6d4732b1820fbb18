package judge

import (
	"encoding/json"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	defaults "k8s.io/kubernetes/pkg/apis/networking/v1"
)

// sameNetworkPolicy reports whether the old and the new NetworkPolicy of a request have the same
// spec with its defaults, apart from lists and maps that are empty in one and absent in the other.
func (r Request) sameNetworkPolicy() bool {
	var old, changed networkingv1.NetworkPolicy
	if json.Unmarshal(r.Old, &old) != nil || json.Unmarshal(r.New, &changed) != nil {
		return false
	}
	defaults.SetObjectDefaults_NetworkPolicy(&old)
	defaults.SetObjectDefaults_NetworkPolicy(&changed)
	return equality.Semantic.DeepEqual(old.Spec, changed.Spec)
}
