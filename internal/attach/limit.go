package attach

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/groups"
)

// The reasons of the events.
const (
	reasonTooManyPods   = "TooManyPodsOnOneClaim"
	reasonOldKubelets   = "KubeletsTooOld"
	reasonClaimNotNamed = "GroupClaimNotNamed"
)

const (
	// groupKubelet is the minor version of the first kubelet that accepts a claim reserved for the
	// PodGroup of a pod.
	groupKubelet = 37
	// namedNodes is the number of nodes that an event names.
	namedNodes = 3
)

// subject is the pod or PodGroup to check.
type subject struct {
	pod bool
	types.NamespacedName
}

// Limits reports on pods and PodGroups what the cluster does not support, before it causes a
// failure.
type Limits struct {
	own      bool
	pods     indexed[*core.Pod] // by groups.Index
	groups   lookup[*scheduling.PodGroup]
	nodes    interface{ List() []*corev1.Node }
	events   reconciler.Recorder
	reported eventDeduper
	run      func(context.Context) error
}

// NewLimits returns the controller on inf's caches. It must be called before they are started.
func NewLimits(set *client.Set, inf *client.Informers, events reconciler.Recorder) (*Limits, error) {
	l := &Limits{own: set.Dialect().Own(), pods: inf.Pods(), groups: inf.PodGroups(), nodes: inf.Nodes(), events: events}
	if err := inf.Pods().AddIndex(groups.Index, groups.IndexKeys); err != nil {
		return nil, err
	}
	runner := reconciler.New(Limit, l.Reconcile, reconciler.Options{Workers: 1, Ready: inf.WaitForSync})
	l.run = runner.Run
	add := func(group *scheduling.PodGroup) { runner.Add(subject{NamespacedName: reconciler.KeyOf(group)}) }
	inf.PodGroups().OnChange(func(before, now *scheduling.PodGroup) {
		if now == nil {
			l.reported.isNew(before.UID, "")
		} else if len(now.Spec.ResourceClaims) > 0 {
			add(now)
		}
	})
	inf.Pods().OnChange(func(before, now *core.Pod) {
		switch {
		case now == nil:
			l.reported.isNew(before.UID, "")
			return
		case before != nil:
			return // only additions can exceed the limit
		}
		for _, key := range groupsOf(now) {
			runner.Add(subject{NamespacedName: key})
		}
		if len(unresolvedEntries(now)) > 0 {
			runner.Add(subject{true, reconciler.KeyOf(now)})
		}
	})
	inf.Nodes().OnChange(func(before, now *corev1.Node) {
		if l.own || now == nil ||
			before != nil && before.Status.NodeInfo.KubeletVersion == now.Status.NodeInfo.KubeletVersion {
			return
		}
		for _, group := range inf.PodGroups().List() {
			if len(group.Spec.ResourceClaims) > 0 {
				add(group)
			}
		}
	})
	return l, nil
}

// Run reconciles until ctx is done.
func (l *Limits) Run(ctx context.Context) error { return l.run(ctx) }

// Reconcile checks one object and reports what was not reported before.
func (l *Limits) Reconcile(_ context.Context, key subject) error {
	if key.pod {
		if pod, ok := l.pods.Get(key.Namespace, key.Name); ok {
			l.tellPod(pod)
		}
		return nil
	}
	group, ok := l.groups.Get(key.Namespace, key.Name)
	if !ok || group.DeletionTimestamp != nil || len(group.Spec.ResourceClaims) == 0 {
		return nil
	}
	if l.own {
		l.report(group, reasonTooManyPods, l.tooMany(group))
	} else {
		l.report(group, reasonOldKubelets, l.tooOld())
	}
	return nil
}

func (l *Limits) report(group *scheduling.PodGroup, reason, text string) {
	if l.reported.isNew(group.UID, text) {
		l.events.Eventf(group, corev1.EventTypeWarning, reason, "%s", text)
	}
}

// tooMany describes a claim with more pods than status.reservedFor can hold: here each pod is a
// consumer. A group that grows is reported once.
func (l *Limits) tooMany(group *scheduling.PodGroup) string {
	most := resourcev1.ResourceClaimReservedForMaxSize
	if gang := group.Spec.SchedulingPolicy.Gang; gang != nil && int(gang.MinCount) > most {
		return fmt.Sprintf(
			"a claim can be reserved for %d pods at most in this cluster, which has no PodGroups of its own: a gang of %d that shares one is never placed",
			most, gang.MinCount,
		)
	}
	names := map[string]bool{}
	for i := range group.Spec.ResourceClaims {
		entry := &group.Spec.ResourceClaims[i]
		if entry.ResourceClaimName != nil {
			names[*entry.ResourceClaimName] = true
		} else {
			names[allotv1alpha1.GroupClaimName(group.Name, entry.Name)] = true
		}
	}
	count := 0
	for _, pod := range l.pods.ByIndex(groups.Index, groups.IndexKey(group.Namespace, group.Name)) {
		shares := func(c core.PodResourceClaim) bool { return c.ResourceClaimName != nil && names[*c.ResourceClaimName] }
		if !pod.Finished() && slices.ContainsFunc(pod.Spec.ResourceClaims, shares) {
			count++
		}
	}
	if count <= most {
		return ""
	}
	return fmt.Sprintf(
		"a claim can be reserved for %d pods at most in this cluster, which has no PodGroups of its own: the other pods of the group have to wait",
		most,
	)
}

// tooOld names nodes with kubelets that do not support reservations for PodGroups.
func (l *Limits) tooOld() string {
	var old []string
	for _, node := range l.nodes.List() {
		if release, ok := kubeletRelease(node.Status.NodeInfo.KubeletVersion); ok && release < groupKubelet {
			old = append(old, node.Name)
		}
	}
	if len(old) == 0 {
		return ""
	}
	slices.Sort(old)
	text := strings.Join(old[:min(len(old), namedNodes)], ", ")
	if more := len(old) - namedNodes; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf(
		"claims of the group are reserved for the group, which kubelets before 1.%d refuse; these nodes have one: %s",
		groupKubelet, text,
	)
}

// kubeletRelease returns the minor version, for example 37 for v1.37.2.
func kubeletRelease(version string) (int, bool) {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 2 || parts[0] != "1" {
		return 0, false
	}
	n, err := strconv.Atoi(parts[1])
	return n, err == nil
}

// unresolvedEntries returns the entries that still refer to the claim of the group, which an admission policy
// must replace.
func unresolvedEntries(pod *core.Pod) []string {
	var out []string
	for i := range pod.Spec.ResourceClaims {
		if name := pod.Spec.ResourceClaims[i].ResourceClaimName; name != nil &&
			strings.HasSuffix(*name, allotv1alpha1.GroupClaimSuffix) {
			out = append(out, *name)
		}
	}
	return out
}

func (l *Limits) tellPod(pod *core.Pod) {
	list := unresolvedEntries(pod)
	if len(list) == 0 {
		return
	}
	hint := "the pod has no label " + allotv1alpha1.PodGroupLabel
	if keys := groupsOf(pod); len(keys) > 0 {
		hint = "write " + allotv1alpha1.GroupClaimName(keys[0].Name,
			strings.TrimSuffix(list[0], allotv1alpha1.GroupClaimSuffix))
	}
	text := fmt.Sprintf(
		"nobody has replaced %s by the name of the group's claim (is the chart's MutatingAdmissionPolicy there?); %s",
		strings.Join(list, ", "), hint,
	)
	if l.reported.isNew(pod.UID, text) {
		l.events.Eventf(pod, corev1.EventTypeWarning, reasonClaimNotNamed, "%s", text)
	}
}
