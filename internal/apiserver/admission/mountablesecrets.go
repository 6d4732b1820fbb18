package admission

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	core "github.com/allot-dev/allot/api/core/v1"
)

// secretsAllowed returns an error for the first secret of a pod that its ServiceAccount does not
// name.
func secretsAllowed(account *corev1.ServiceAccount, pod *core.Pod) error {
	allows := func(name string) bool {
		return slices.ContainsFunc(account.Secrets, func(s corev1.ObjectReference) bool { return s.Name == name })
	}
	for _, v := range pod.Spec.Volumes {
		if v.Secret != nil && !allows(v.Secret.SecretName) {
			return fmt.Errorf(
				"volume with secret.secretName=%q is not allowed because service account %s does not reference that secret",
				v.Secret.SecretName,
				account.Name,
			)
		}
	}
	for _, group := range []struct {
		kind string
		list []corev1.Container
	}{{"init container", pod.Spec.InitContainers}, {"container", pod.Spec.Containers},
		{"ephemeral container", ephemeral(pod)}} {
		for i := range group.list {
			if where, name, ok := foreignSecret(&group.list[i], allows); ok {
				return fmt.Errorf(
					"%s %s with %s referencing secret.secretName=%q is not allowed because service account %s does not reference that secret",
					group.kind,
					group.list[i].Name,
					where,
					name,
					account.Name,
				)
			}
		}
	}
	for i, ref := range pod.Spec.ImagePullSecrets {
		if !slices.Contains(account.ImagePullSecrets, ref) {
			return fmt.Errorf(
				"imagePullSecrets[%d].name=%q is not allowed because service account %s does not reference that imagePullSecret",
				i,
				ref.Name,
				account.Name,
			)
		}
	}
	return nil
}

// foreignSecret returns the first secret in the environment of a container that is not allowed, and
// where it is.
func foreignSecret(c *corev1.Container, allows func(string) bool) (where, name string, ok bool) {
	for _, env := range c.Env {
		if from := env.ValueFrom; from != nil && from.SecretKeyRef != nil && !allows(from.SecretKeyRef.Name) {
			return "envVar " + env.Name, from.SecretKeyRef.Name, true
		}
	}
	for _, from := range c.EnvFrom {
		if from.SecretRef != nil && !allows(from.SecretRef.Name) {
			return "envFrom", from.SecretRef.Name, true
		}
	}
	return "", "", false
}

func ephemeral(pod *core.Pod) []corev1.Container {
	var out []corev1.Container
	for i := range pod.Spec.EphemeralContainers {
		out = append(out, corev1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	return out
}
