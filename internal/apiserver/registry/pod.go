package registry

import (
	"context"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubectl/pkg/util/qos"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
	"github.com/allot-dev/allot/internal/claims"
)

func pods(g dependencies) entry {
	return &kind[core.Pod, *core.Pod]{
		names:    names{versions: v1, plural: "pods", singular: "pod", short: []string{"po"}, categories: []string{"all"}},
		newList:  func() runtime.Object { return &core.PodList{} },
		defaults: defaults.Pod,
		printer:  printers.Pod,
		class:    rbac.ReadWrite,
		subresources: map[string]rbac.Class{
			"log": rbac.ReadOnly, "exec": rbac.Confidential, "attach": rbac.Confidential, "portforward": rbac.Confidential,
			"eviction": rbac.Requested, "binding": rbac.Cluster,
		},
		spec:       func(p *core.Pod) any { return &p.Spec },
		status:     func(p *core.Pod) any { return &p.Status },
		generation: true,
		prepareCreate: func(ctx context.Context, p *core.Pod) {
			startPod(p, g.now())
			g.lookup.recordClaims(ctx, p)
		},
		prepareUpdate:  updatePod,
		prepareStatus:  updatePodStatus,
		gracefulDelete: podGracePeriod,
		fields:         podFields,
		index:          "spec.nodeName",
		beginUpdate:    g.holds.beginUpdate,
		validate:       validation.ValidatePod,
		validateUpdate: validation.ValidatePodUpdate,
		validateStatus: validation.ValidatePodStatusUpdate,
		warnings:       validation.PodWarnings,
		wrap:           func(s *storage) rest.Storage { return &podStorage{s} },
		storages: func(store *genericregistry.Store) map[string]rest.Storage {
			reach := kubelets{pods: store, others: g.lookup, transport: g.kubelets}
			return map[string]rest.Storage{
				"binding":     &binding{store: store},
				"eviction":    &eviction{pods: store, others: g.lookup, now: g.now},
				"log":         &podLog{reach},
				"exec":        &podStream{reach, g.access.Authorizer, execStream},
				"attach":      &podStream{reach, g.access.Authorizer, attachStream},
				"portforward": &podStream{reach, g.access.Authorizer, forwardStream},
			}
		},
	}
}

// startPod sets the initial status of a new pod.
func startPod(p *core.Pod, now time.Time) {
	mergeLabelKeys(p)
	appArmorFields(p)
	completeResources(p)
	p.Status.Phase = corev1.PodPending
	p.Status.QOSClass = qos.ComputePodQOS(p.Upstream())
	if len(p.Spec.SchedulingGates) > 0 {
		p.Status.Conditions = []corev1.PodCondition{{
			Type:    corev1.PodScheduled,
			Status:  corev1.ConditionFalse,
			Reason:  corev1.PodReasonSchedulingGated,
			Message: "Scheduling is blocked due to non-empty scheduling gates",

			LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
		}}
	}
}

// recordClaims records the known names of claims in a new pod, which saves a write per pod.
func (l *Lookup) recordClaims(ctx context.Context, p *core.Pod) {
	if len(p.Spec.ResourceClaims) == 0 {
		return
	}
	p.Status.ResourceClaimStatuses = claims.KnownClaims(p, l.groupOf(ctx, p), func(template string) bool {
		return l.hasTemplate(ctx, template)
	})
}

// updatePod restores fields that a client does not know.
func updatePod(_ context.Context, p, old *core.Pod) {
	carryPodClaims(p.Spec.ResourceClaims, old.Spec.ResourceClaims)
	if p.Spec.Priority == nil {
		p.Spec.Priority = old.Spec.Priority
	}
	if p.Spec.PreemptionPolicy == nil {
		p.Spec.PreemptionPolicy = old.Spec.PreemptionPolicy
	}
	if p.Spec.Resources == nil && old.Spec.Resources != nil {
		p.Spec.Resources = old.Spec.Resources.DeepCopy()
	}
}

// updatePodStatus restores fields that writers of the status often drop by mistake.
func updatePodStatus(p, old *core.Pod) {
	p.DeletionTimestamp = nil
	p.OwnerReferences = old.OwnerReferences
	if p.Status.QOSClass == "" {
		p.Status.QOSClass = old.Status.QOSClass
	}
	if p.Status.ResourceClaimStatuses == nil {
		p.Status.ResourceClaimStatuses = old.Status.ResourceClaimStatuses
	}
	if p.Status.ExtendedResourceClaimStatus == nil {
		p.Status.ExtendedResourceClaimStatus = old.Status.ExtendedResourceClaimStatus
	}
	if p.Status.NodeAllocatableResourceClaimStatuses == nil {
		p.Status.NodeAllocatableResourceClaimStatuses = old.Status.NodeAllocatableResourceClaimStatuses
	}
	if p.Status.ObservedGeneration == 0 {
		p.Status.ObservedGeneration = old.Status.ObservedGeneration
	}
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.ObservedGeneration == 0 {
			c.ObservedGeneration = observedGeneration(old, c.Type)
		}
	}
}

func observedGeneration(p *core.Pod, t corev1.PodConditionType) int64 {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == t {
			return p.Status.Conditions[i].ObservedGeneration
		}
	}
	return 0
}

func podFields(p *core.Pod) fields.Set {
	ip := ""
	if len(p.Status.PodIPs) > 0 {
		ip = p.Status.PodIPs[0].IP
	}
	set := make(fields.Set, 10)
	set["spec.nodeName"] = p.Spec.NodeName
	set["spec.restartPolicy"] = string(p.Spec.RestartPolicy)
	set["spec.schedulerName"] = p.Spec.SchedulerName
	set["spec.serviceAccountName"] = p.Spec.ServiceAccountName
	set["spec.hostNetwork"] = strconv.FormatBool(p.Spec.HostNetwork)
	set["status.phase"] = string(p.Status.Phase)
	set["status.podIP"] = ip
	set["status.nominatedNodeName"] = p.Status.NominatedNodeName
	return set
}
