package daemonset

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	corehelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	core "github.com/allot-dev/allot/api/core/v1"
)

// verdict states what pods of a set may do on a node.
type verdict struct {
	start bool // a new pod may be created
	stay  bool // an existing pod may stay
}

// suitability holds the requirements of a template on nodes.
type suitability struct {
	nodeName    string
	affinity    nodeaffinity.RequiredNodeAffinity
	tolerations []corev1.Toleration
}

func suitabilityOf(template *core.PodTemplateSpec) suitability {
	spec := &template.Spec
	return suitability{
		nodeName:    spec.NodeName,
		affinity:    nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity),
		tolerations: tolerations(spec),
	}
}

// verdictFor returns the verdict for a node; nil means that the node does not exist.
func (s suitability) verdictFor(node *corev1.Node) verdict {
	if node == nil || s.nodeName != "" && s.nodeName != node.Name {
		return verdict{}
	}
	// An invalid affinity, which validation rejects, matches no node.
	if fits, err := s.affinity.Match(node); err != nil || !fits {
		return verdict{}
	}
	return verdict{
		start: s.tolerates(node, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute),
		stay:  s.tolerates(node, corev1.TaintEffectNoExecute),
	}
}

func (s suitability) tolerates(node *corev1.Node, effects ...corev1.TaintEffect) bool {
	matters := func(taint *corev1.Taint) bool { return slices.Contains(effects, taint.Effect) }
	_, untolerated := corehelpers.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, s.tolerations,
		matters, false)
	return !untolerated
}

// tolerations returns the template's tolerations plus those that every daemon pod gets (not-ready,
// unreachable, pressure).
func tolerations(spec *core.PodSpec) []corev1.Toleration {
	all := slices.Clone(spec.Tolerations)
	add := func(key string, effect corev1.TaintEffect) {
		daemon := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
		// They replace the same toleration with a time limit.
		i := slices.IndexFunc(all, func(t corev1.Toleration) bool { return t.MatchToleration(&daemon) })
		if i >= 0 {
			all[i] = daemon
			return
		}
		all = append(all, daemon)
	}
	add(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute)
	add(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute)
	add(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)
	if spec.HostNetwork {
		add(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule)
	}
	return all
}
