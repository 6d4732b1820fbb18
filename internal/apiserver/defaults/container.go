package defaults

import (
	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/allot-dev/allot/internal/apiserver/quantity"
)

func container(c *corev1.Container) {
	if c.ImagePullPolicy == "" {
		c.ImagePullPolicy = pullPolicy(c.Image)
	}
	orElse(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	orElse(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		orElse(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range c.Env {
		envSource(c.Env[i].ValueFrom)
	}
	quantities(c.Resources.Limits)
	quantities(c.Resources.Requests)
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		probe(p)
	}
	if c.Lifecycle != nil {
		for _, hook := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if hook != nil {
				httpGet(hook.HTTPGet)
			}
		}
	}
}

// pullPolicy returns Always for the tag latest, which is also the default tag, and IfNotPresent
// otherwise. The node reports invalid names.
func pullPolicy(image string) corev1.PullPolicy {
	name, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return corev1.PullIfNotPresent
	}
	tagged, hasTag := name.(reference.Tagged)
	_, hasDigest := name.(reference.Digested)
	if hasTag && tagged.Tag() == "latest" || !hasTag && !hasDigest {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func envSource(source *corev1.EnvVarSource) {
	if source == nil {
		return
	}
	fieldRef(source.FieldRef)
	if source.FileKeyRef != nil {
		orNew(&source.FileKeyRef.Optional, false)
	}
}

func fieldRef(ref *corev1.ObjectFieldSelector) {
	if ref != nil {
		orElse(&ref.APIVersion, "v1")
	}
}

func probe(p *corev1.Probe) {
	if p == nil {
		return
	}
	orElse(&p.TimeoutSeconds, 1)
	orElse(&p.PeriodSeconds, 10)
	orElse(&p.SuccessThreshold, 1)
	orElse(&p.FailureThreshold, 3)
	httpGet(p.HTTPGet)
	if p.GRPC != nil {
		orNew(&p.GRPC.Service, "")
	}
}

func httpGet(action *corev1.HTTPGetAction) {
	if action != nil {
		orElse(&action.Path, "/")
		orElse(&action.Scheme, corev1.URISchemeHTTP)
	}
}

// quantities rounds up to thousandths, the finest unit in the API. A quantity that is too large for
// that is rejected later.
func quantities(list corev1.ResourceList) {
	for name, q := range list {
		if !quantity.IsTooLarge(q) {
			q.RoundUp(apiresource.Milli)
			list[name] = q
		}
	}
}
