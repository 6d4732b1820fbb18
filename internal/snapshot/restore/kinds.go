package restore

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/snapshot"
)

// withoutAddresses returns the Services without families and ports that depend on the cluster of
// the snapshot. The server allocates others.
func withoutAddresses(services []*corev1.Service) []*corev1.Service {
	var out []*corev1.Service
	for _, s := range services {
		s = s.DeepCopy()
		s.Spec.IPFamilies, s.Spec.IPFamilyPolicy, s.Spec.HealthCheckNodePort = nil, nil, 0
		for i := range s.Spec.Ports {
			s.Spec.Ports[i].NodePort = 0
		}
		out = append(out, s)
	}
	return out
}

// inOrder calls the functions until one fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// cluster writes what pods and claims need.
func (w *writer) cluster(ctx context.Context, o *snapshot.Objects) error {
	set := w.set
	return inOrder(
		func() error { return createAll(ctx, w, o.Namespaces, ignoreNamespace(set.Namespaces), nil) },
		func() error { return createAll(ctx, w, o.PriorityClasses, ignoreNamespace(set.PriorityClasses), nil) },
		func() error { return createAll(ctx, w, o.Classes, ignoreNamespace(set.DeviceClasses), nil) },
		func() error { return createAll(ctx, w, o.TaintRules, ignoreNamespace(set.DeviceTaintRules), nil) },
		func() error { return createAll(ctx, w, o.Templates, set.ResourceClaimTemplates, nil) },
		func() error {
			return createAll(ctx, w, o.ClusterTemplates, ignoreNamespace(set.ClusterResourceClaimTemplates), nil)
		},
		func() error { return createAll(ctx, w, withoutAddresses(o.Services), set.Services, nil) },
		func() error { return createAll(ctx, w, o.CSINodes, ignoreNamespace(set.CSINodes), nil) },
		func() error {
			return createAll(
				ctx,
				w,
				o.Volumes,
				ignoreNamespace(set.PersistentVolumes),
				func(ctx context.Context, created, original *corev1.PersistentVolume) error {
					created.Status = original.Status
					_, err := set.PersistentVolumes().UpdateStatus(ctx, created, metav1.UpdateOptions{})
					return err
				},
			)
		},
		func() error {
			return createAll(
				ctx,
				w,
				o.VolumeClaims,
				set.PersistentVolumeClaims,
				func(ctx context.Context, created, original *corev1.PersistentVolumeClaim) error {
					created.Status = original.Status
					_, err := set.PersistentVolumeClaims(created.Namespace).UpdateStatus(ctx, created, metav1.UpdateOptions{})
					return err
				},
			)
		},
	)
}

// limits writes what limits other objects.
func (w *writer) limits(ctx context.Context, o *snapshot.Objects) error {
	limitRanges := func(namespace string) clientcorev1.LimitRangeInterface {
		return w.plain.CoreV1().LimitRanges(namespace)
	}
	return inOrder(
		func() error { return createAll(ctx, w, o.Budgets, w.set.PodDisruptionBudgets, nil) },
		func() error { return createAll(ctx, w, o.Quotas, w.set.ResourceQuotas, nil) },
		func() error { return createAll(ctx, w, o.LimitRanges, limitRanges, nil) },
	)
}

// controllers writes what creates pods, owners before what they own.
func (w *writer) controllers(ctx context.Context, o *snapshot.Objects) error {
	set := w.set
	return inOrder(
		func() error { return createAll(ctx, w, o.Deployments, set.Deployments, nil) },
		func() error { return createAll(ctx, w, o.ReplicaSets, set.ReplicaSets, nil) },
		func() error { return createAll(ctx, w, keepPods(o.StatefulSets), set.StatefulSets, nil) },
		func() error { return createAll(ctx, w, keepDaemons(o.DaemonSets), set.DaemonSets, nil) },
		func() error { return createAll(ctx, w, withoutGenerated(o.Jobs), set.Jobs, w.jobStatus) },
		func() error { return createAll(ctx, w, o.Workloads, set.Workloads, nil) },
		func() error { return createAll(ctx, w, o.Composites, set.CompositePodGroups, nil) },
		func() error { return createAll(ctx, w, o.PodGroups, set.PodGroups, w.groupStatus) },
	)
}

// keepPods returns StatefulSets that do not update their pods.
func keepPods(sets []*apps.StatefulSet) []*apps.StatefulSet {
	out := make([]*apps.StatefulSet, len(sets))
	for i, set := range sets {
		out[i] = set.DeepCopy()
		out[i].Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	}
	return out
}

// keepDaemons returns DaemonSets that do not update their pods.
func keepDaemons(sets []*apps.DaemonSet) []*apps.DaemonSet {
	out := make([]*apps.DaemonSet, len(sets))
	for i, set := range sets {
		out[i] = set.DeepCopy()
		out[i].Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
	}
	return out
}

// withoutGenerated returns Jobs without the selector and labels that the server generates.
func withoutGenerated(jobs []*batch.Job) []*batch.Job {
	generated := append([]string{batchv1.JobNameLabel, "job-name"}, jobLabels...)
	out := make([]*batch.Job, len(jobs))
	for i, job := range jobs {
		out[i] = job.DeepCopy()
		if job.Spec.ManualSelector == nil || !*job.Spec.ManualSelector {
			out[i].Spec.Selector = nil
			out[i].Labels = withoutLabels(job.Labels, generated...)
			out[i].Spec.Template.Labels = withoutLabels(job.Spec.Template.Labels, generated...)
		}
	}
	return out
}

func (w *writer) jobStatus(ctx context.Context, created, original *batch.Job) error {
	created.Status = original.Status
	_, err := w.set.Jobs(created.Namespace).UpdateStatus(ctx, created, metav1.UpdateOptions{})
	return err
}

func (w *writer) groupStatus(ctx context.Context, created, original *scheduling.PodGroup) error {
	created.Status = original.Status
	_, err := w.set.PodGroups(created.Namespace).UpdateStatus(ctx, created, metav1.UpdateOptions{})
	return err
}

// pods writes the pods that run or wait, with the names of their claims. Their nodes start them.
func (w *writer) pods(ctx context.Context, o *snapshot.Objects) error {
	var pods []*core.Pod
	for _, pod := range o.Pods {
		if pod.DeletionTimestamp == nil && !pod.Finished() {
			pods = append(pods, pod)
		}
	}
	return createAll(ctx, w, pods, w.set.Pods, func(ctx context.Context, created, original *core.Pod) error {
		created.Status.ResourceClaimStatuses = original.Status.ResourceClaimStatuses
		created.Status.ExtendedResourceClaimStatus = original.Status.ExtendedResourceClaimStatus
		created.Status.NodeAllocatableResourceClaimStatuses = original.Status.NodeAllocatableResourceClaimStatuses
		_, err := w.set.Pods(created.Namespace).UpdateStatus(ctx, created, metav1.UpdateOptions{})
		return err
	})
}

// claims writes claims with their devices and consumers.
func (w *writer) claims(ctx context.Context, claims []*resource.ResourceClaim) error {
	return createAll(
		ctx,
		w,
		claims,
		w.set.ResourceClaims,
		func(ctx context.Context, created, original *resource.ResourceClaim) error {
			if original.Status.Allocation == nil {
				return nil
			}
			created.Status.Allocation = original.Status.Allocation
			created.Status.ReservedFor = w.consumers(original.Status.ReservedFor)
			_, err := w.set.ResourceClaims(created.Namespace).UpdateStatus(ctx, created, metav1.UpdateOptions{})
			return err
		},
	)
}

// consumers returns the consumers that were written.
func (w *writer) consumers(
	list []resourcev1.ResourceClaimConsumerReference,
) []resourcev1.ResourceClaimConsumerReference {
	var out []resourcev1.ResourceClaimConsumerReference
	for _, ref := range list {
		if uid, ok := w.ids.uid(ref.UID); ok {
			ref.UID = uid
			out = append(out, ref)
		}
	}
	return out
}
