package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	storagenames "k8s.io/apiserver/pkg/storage/names"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/apiserver/noderights"
)

const (
	defaultServiceAccount = "default"
	// enforceMountableSecrets is the annotation of a ServiceAccount whose pods may use the secrets
	// that it names only.
	enforceMountableSecrets = "kubernetes.io/enforce-mountable-secrets"

	tokenVolumePrefix = "kube-api-access-"
	// tokenMountPath is the folder in which clients in containers look for the token of their pod.
	tokenMountPath = "/var/run/secrets/kubernetes.io/serviceaccount"
	// tokenSeconds is an hour and seven seconds: kubelets know by it which tokens a client may keep
	// for longer.
	tokenSeconds = 3607

	// accountPatience is the time for which a pod waits for the ServiceAccount "default", which a
	// controller creates in a new namespace; Kubernetes waits as long. accountPoll is the pause
	// between two looks.
	accountPatience = 2 * time.Second
	accountPoll     = 20 * time.Millisecond
)

// serviceAccount sets the ServiceAccount of a new pod, and what it gives to its pods: a volume with
// a token, and imagePullSecrets.
func (c *Chain) serviceAccount(ctx context.Context, a admission.Attributes, pod *core.Pod) error {
	if isMirror(pod) {
		return mirrorAllows(a, pod)
	}
	if pod.Spec.ServiceAccountName == "" {
		pod.Spec.ServiceAccountName, pod.Spec.DeprecatedServiceAccount = defaultServiceAccount, defaultServiceAccount
	}
	account, err := c.accountOf(ctx, a, pod)
	if err != nil {
		return err
	}
	if automounts(account, pod) {
		mountToken(pod)
	}
	if len(pod.Spec.ImagePullSecrets) == 0 {
		pod.Spec.ImagePullSecrets = slices.Clone(account.ImagePullSecrets)
	}
	return nil
}

// serviceAccountAllows rejects a pod whose ServiceAccount was changed by a webhook to one that does
// not exist, and one that uses secrets that its account does not name.
func (c *Chain) serviceAccountAllows(ctx context.Context, a admission.Attributes, pod *core.Pod) error {
	if isMirror(pod) {
		return mirrorAllows(a, pod)
	}
	if pod.Spec.ServiceAccountName == "" {
		return admission.NewForbidden(a, fmt.Errorf("no service account specified for pod %s/%s", a.GetNamespace(), pod.Name))
	}
	account, err := c.accountOf(ctx, a, pod)
	if err != nil {
		return err
	}
	if enforced, _ := strconv.ParseBool(account.Annotations[enforceMountableSecrets]); !enforced {
		return nil
	}
	if err := secretsAllowed(account, pod); err != nil {
		return admission.NewForbidden(a, err)
	}
	return nil
}

// accountOf returns the ServiceAccount of a pod, or the error for the client.
func (c *Chain) accountOf(ctx context.Context, a admission.Attributes, pod *core.Pod) (*corev1.ServiceAccount, error) {
	name := pod.Spec.ServiceAccountName
	account, err := c.findAccount(ctx, a.GetNamespace(), name)
	if err != nil {
		return nil, admission.NewForbidden(a,
			fmt.Errorf("error looking up service account %s/%s: %w", a.GetNamespace(), name, err))
	}
	return account, nil
}

func (c *Chain) findAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	looks := 1
	if name == defaultServiceAccount {
		looks = int(accountPatience / accountPoll)
	}
	for {
		account, ok, err := c.reader.ServiceAccount(ctx, namespace, name)
		if ok || err != nil {
			return account, err
		}
		if looks--; looks == 0 {
			return nil, apierrors.NewNotFound(corev1.Resource("serviceaccount"), name)
		}
		select {
		case <-time.After(accountPoll):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func automounts(account *corev1.ServiceAccount, pod *core.Pod) bool {
	for _, wish := range []*bool{pod.Spec.AutomountServiceAccountToken, account.AutomountServiceAccountToken} {
		if wish != nil {
			return *wish
		}
	}
	return true
}

// mountToken mounts the volume with a token in each container that mounts nothing in its place.
func mountToken(pod *core.Pod) {
	isToken := func(v corev1.Volume) bool { return strings.HasPrefix(v.Name, tokenVolumePrefix) }
	var name string
	i := slices.IndexFunc(pod.Spec.Volumes, isToken)
	if i >= 0 {
		name = pod.Spec.Volumes[i].Name
	} else {
		name = storagenames.SimpleNameGenerator.GenerateName(tokenVolumePrefix)
	}
	mount := corev1.VolumeMount{Name: name, ReadOnly: true, MountPath: tokenMountPath}
	used := false
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for j := range containers {
			mounts := &containers[j].VolumeMounts
			if !slices.ContainsFunc(*mounts, func(m corev1.VolumeMount) bool { return m.MountPath == tokenMountPath }) {
				*mounts, used = append(*mounts, mount), true
			}
		}
	}
	if i < 0 && used {
		pod.Spec.Volumes = append(pod.Spec.Volumes,
			corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: tokenVolume()}})
	}
}

// tokenVolume returns the files that a client in a container needs: a token, the certificates by
// which it verifies the server, and the name of the namespace.
func tokenVolume() *corev1.ProjectedVolumeSource {
	return &corev1.ProjectedVolumeSource{
		DefaultMode: new(corev1.ProjectedVolumeSourceDefaultMode),
		Sources: []corev1.VolumeProjection{
			{
				ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
					Path:              "token",
					ExpirationSeconds: new(int64(tokenSeconds)),
				},
			},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
				Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
			}}}},
		},
	}
}

// isMirror reports whether a pod represents a static pod of a kubelet, which has no ServiceAccount.
func isMirror(pod *core.Pod) bool {
	_, ok := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return ok
}

func mirrorAllows(a admission.Attributes, pod *core.Pod) error {
	var err error
	switch {
	case pod.Spec.ServiceAccountName != "":
		err = errors.New("a mirror pod may not reference service accounts")
	case len(noderights.Secrets(pod)) > 0:
		err = errors.New("a mirror pod may not reference secrets")
	case slices.ContainsFunc(pod.Spec.Volumes, projectsToken):
		err = errors.New("a mirror pod may not use ServiceAccountToken volume projections")
	default:
		return nil
	}
	return admission.NewForbidden(a, err)
}

func projectsToken(v corev1.Volume) bool {
	return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
		return s.ServiceAccountToken != nil
	})
}
