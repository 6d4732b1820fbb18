package noderights

import (
	corev1 "k8s.io/api/core/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/claims"
)

// references has the names of the objects in its namespace to which a pod refers.
type references struct {
	secrets, configMaps, volumeClaims, resourceClaims, accounts []string
}

// Secrets returns the names of the secrets to which a pod refers.
func Secrets(pod *core.Pod) []string { return referencesOf(pod).secrets }

func referencesOf(pod *core.Pod) references {
	var r references
	for _, ref := range pod.Spec.ImagePullSecrets {
		r.secrets = append(r.secrets, ref.Name)
	}
	pod.Spec.EachContainer(r.environment)
	for i := range pod.Spec.Volumes {
		r.volume(pod.Name, &pod.Spec.Volumes[i])
	}
	r.resourceClaims = claims.Uses(pod)
	if pod.Spec.ServiceAccountName != "" {
		r.accounts = append(r.accounts, pod.Spec.ServiceAccountName)
	}
	return r
}

func (r *references) environment(c *corev1.Container) {
	for i := range c.Env {
		switch source := c.Env[i].ValueFrom; {
		case source == nil:
		case source.SecretKeyRef != nil:
			r.secrets = append(r.secrets, source.SecretKeyRef.Name)
		case source.ConfigMapKeyRef != nil:
			r.configMaps = append(r.configMaps, source.ConfigMapKeyRef.Name)
		}
	}
	for i := range c.EnvFrom {
		if ref := c.EnvFrom[i].SecretRef; ref != nil {
			r.secrets = append(r.secrets, ref.Name)
		}
		if ref := c.EnvFrom[i].ConfigMapRef; ref != nil {
			r.configMaps = append(r.configMaps, ref.Name)
		}
	}
}

func (r *references) volume(pod string, v *corev1.Volume) {
	if v.PersistentVolumeClaim != nil {
		r.volumeClaims = append(r.volumeClaims, v.PersistentVolumeClaim.ClaimName)
	}
	if v.Ephemeral != nil {
		r.volumeClaims = append(r.volumeClaims, pod+"-"+v.Name)
	}
	if v.ConfigMap != nil {
		r.configMaps = append(r.configMaps, v.ConfigMap.Name)
	}
	if v.Secret != nil {
		r.secrets = append(r.secrets, v.Secret.SecretName)
	}
	if v.AzureFile != nil {
		r.secrets = append(r.secrets, v.AzureFile.SecretName)
	}
	for _, ref := range driverSecrets(v) {
		if ref != nil {
			r.secrets = append(r.secrets, ref.Name)
		}
	}
	if v.Projected == nil {
		return
	}
	for i := range v.Projected.Sources {
		if ref := v.Projected.Sources[i].Secret; ref != nil {
			r.secrets = append(r.secrets, ref.Name)
		}
		if ref := v.Projected.Sources[i].ConfigMap; ref != nil {
			r.configMaps = append(r.configMaps, ref.Name)
		}
	}
}

// driverSecrets returns the references to secrets with which the drivers of a volume authenticate.
// Some are nil.
func driverSecrets(v *corev1.Volume) []*corev1.LocalObjectReference {
	var out []*corev1.LocalObjectReference
	if v.CephFS != nil {
		out = append(out, v.CephFS.SecretRef)
	}
	if v.Cinder != nil {
		out = append(out, v.Cinder.SecretRef)
	}
	if v.CSI != nil {
		out = append(out, v.CSI.NodePublishSecretRef)
	}
	if v.FlexVolume != nil {
		out = append(out, v.FlexVolume.SecretRef)
	}
	if v.ISCSI != nil {
		out = append(out, v.ISCSI.SecretRef)
	}
	if v.RBD != nil {
		out = append(out, v.RBD.SecretRef)
	}
	if v.ScaleIO != nil {
		out = append(out, v.ScaleIO.SecretRef)
	}
	if v.StorageOS != nil {
		out = append(out, v.StorageOS.SecretRef)
	}
	return out
}

// audiences returns the audiences for which a pod requests tokens of its service account.
func audiences(pod *core.Pod) []string {
	var out []string
	for i := range pod.Spec.Volumes {
		if p := pod.Spec.Volumes[i].Projected; p != nil {
			for j := range p.Sources {
				if t := p.Sources[j].ServiceAccountToken; t != nil {
					out = append(out, t.Audience)
				}
			}
		}
	}
	return out
}
