package restore

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clientcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/snapshot"
)

// accounts writes the ServiceAccounts that pods and templates of pods name. A Snapshot has none,
// and the server refuses pods whose account does not exist.
func (w *writer) accounts(ctx context.Context, o *snapshot.Objects) error {
	named := accountsOf(o)
	accounts := make([]*corev1.ServiceAccount, 0, len(named))
	for key := range named {
		account := &corev1.ServiceAccount{}
		account.Namespace, account.Name = key.Namespace, key.Name
		accounts = append(accounts, account)
	}
	of := func(namespace string) clientcorev1.ServiceAccountInterface {
		return w.plain.CoreV1().ServiceAccounts(namespace)
	}
	return createAll(ctx, w, accounts, of, nil)
}

func accountsOf(o *snapshot.Objects) map[types.NamespacedName]bool {
	named := map[types.NamespacedName]bool{}
	add := func(namespace string, spec *core.PodSpec) {
		if spec.ServiceAccountName != "" {
			named[types.NamespacedName{Namespace: namespace, Name: spec.ServiceAccountName}] = true
		}
	}
	for _, pod := range o.Pods {
		add(pod.Namespace, &pod.Spec)
	}
	for _, d := range o.Deployments {
		add(d.Namespace, &d.Spec.Template.Spec)
	}
	for _, r := range o.ReplicaSets {
		add(r.Namespace, &r.Spec.Template.Spec)
	}
	for _, s := range o.StatefulSets {
		add(s.Namespace, &s.Spec.Template.Spec)
	}
	for _, d := range o.DaemonSets {
		add(d.Namespace, &d.Spec.Template.Spec)
	}
	for _, j := range o.Jobs {
		add(j.Namespace, &j.Spec.Template.Spec)
	}
	return named
}
