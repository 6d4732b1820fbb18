package validation

import (
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	core "github.com/allot-dev/allot/api/core/v1"
)

// containerList is one of the lists of containers in a pod.
type containerList struct {
	field      string
	containers []corev1.Container
}

func containerLists(spec *core.PodSpec) []containerList {
	return []containerList{{"initContainers", spec.InitContainers}, {"containers", spec.Containers}, {"ephemeralContainers", ephemeral(spec)}}
}

// ephemeral shows ephemeral containers as the containers that they nearly are.
func ephemeral(spec *core.PodSpec) []corev1.Container {
	if len(spec.EphemeralContainers) == 0 {
		return nil
	}
	out := make([]corev1.Container, len(spec.EphemeralContainers))
	for i := range spec.EphemeralContainers {
		out[i] = corev1.Container(spec.EphemeralContainers[i].EphemeralContainerCommon)
	}
	return out
}

func containers(path *field.Path, spec *core.PodSpec) field.ErrorList {
	var errs field.ErrorList
	if len(spec.Containers) == 0 {
		errs = append(errs, field.Required(path.Child("containers"), ""))
	}
	seen := map[string]bool{}
	for _, list := range containerLists(spec) {
		for i := range list.containers {
			c, at := &list.containers[i], path.Child(list.field).Index(i)
			if c.Name != "" && seen[c.Name] {
				errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
			}
			seen[c.Name] = true
			errs = append(errs, container(at, c, spec)...)
			switch list.field {
			case "initContainers":
				errs = append(errs, initContainer(at, c)...)
			case "ephemeralContainers":
				errs = append(errs, ephemeralContainer(at, c)...)
			}
		}
	}
	errs = append(errs, targets(path.Child("ephemeralContainers"), spec)...)
	return append(errs, hostPortsOnce(path, spec)...)
}

func container(path *field.Path, c *corev1.Container, spec *core.PodSpec) field.ErrorList {
	return join(
		dnsLabel(path.Child("name"), c.Name),
		required(path.Child("image"), c.Image),
		ports(path.Child("ports"), c.Ports, spec.HostNetwork),
		env(path, c),
		containerResources(path.Child("resources"), &c.Resources, spec.ResourceClaims),
		volumeMounts(path.Child("volumeMounts"), c, spec.Volumes),
		volumeDevices(path.Child("volumeDevices"), c, spec.Volumes),
		oneOf(path.Child("imagePullPolicy"), c.ImagePullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever),
		oneOf(path.Child("terminationMessagePolicy"), c.TerminationMessagePolicy,
			corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError),
		probes(path, c),
		lifecycle(path.Child("lifecycle"), c.Lifecycle, spec.TerminationGracePeriodSeconds),
		containerRestart(path, c),
		containerSecurity(path.Child("securityContext"), c.SecurityContext),
	)
}

// initContainer refuses what only makes sense for a container that keeps running,
// unless it is one of those (a sidecar).
func initContainer(path *field.Path, c *corev1.Container) field.ErrorList {
	if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
		return nil
	}
	return forbidden(path, "may not be set for init containers without restartPolicy Always",
		member{"lifecycle", c.Lifecycle != nil},
		member{"livenessProbe", c.LivenessProbe != nil},
		member{"readinessProbe", c.ReadinessProbe != nil},
		member{"startupProbe", c.StartupProbe != nil},
	)
}

func ephemeralContainer(path *field.Path, c *corev1.Container) field.ErrorList {
	errs := forbidden(path, "cannot be set for an ephemeral container",
		member{"ports", len(c.Ports) > 0},
		member{"resources", len(c.Resources.Limits)+len(c.Resources.Requests)+len(c.Resources.Claims) > 0},
		member{"lifecycle", c.Lifecycle != nil},
		member{"livenessProbe", c.LivenessProbe != nil},
		member{"readinessProbe", c.ReadinessProbe != nil},
		member{"startupProbe", c.StartupProbe != nil},
		member{"restartPolicy", c.RestartPolicy != nil},
	)
	for i := range c.VolumeMounts {
		errs = append(errs, forbidden(path.Child("volumeMounts").Index(i), "cannot be set for an ephemeral container",
			member{"subPath", c.VolumeMounts[i].SubPath != ""},
			member{"subPathExpr", c.VolumeMounts[i].SubPathExpr != ""})...)
	}
	return errs
}

// targets checks that ephemeral containers look into containers that exist.
func targets(path *field.Path, spec *core.PodSpec) field.ErrorList {
	known := map[string]bool{"": true}
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			known[list[i].Name] = true
		}
	}
	return each(path, spec.EphemeralContainers, func(at *field.Path, c *corev1.EphemeralContainer) field.ErrorList {
		if known[c.TargetContainerName] {
			return nil
		}
		return one(field.NotFound(at.Child("targetContainerName"), c.TargetContainerName))
	})
}

func forbidden(path *field.Path, message string, fields ...member) field.ErrorList {
	var errs field.ErrorList
	for _, f := range fields {
		if f.set {
			errs = append(errs, field.Forbidden(path.Child(f.name), message))
		}
	}
	return errs
}

func trimmed(path *field.Path, image string) field.ErrorList {
	return check(strings.TrimSpace(image) == image, path, image, "must not begin or end with whitespace")
}

func ports(path *field.Path, list []corev1.ContainerPort, hostNetwork bool) field.ErrorList {
	return join(
		each(path, list, func(at *field.Path, p *corev1.ContainerPort) field.ErrorList {
			errs := join(
				optionalForm(at.Child("name"), p.Name, validation.IsValidPortName),
				between(at.Child("containerPort"), int64(p.ContainerPort), 1, math.MaxUint16),
				oneOf(at.Child("protocol"), p.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP),
			)
			if p.HostPort != 0 {
				errs = append(errs, between(at.Child("hostPort"), int64(p.HostPort), 1, math.MaxUint16)...)
				if hostNetwork && p.HostPort != p.ContainerPort {
					errs = append(errs, field.Invalid(at.Child("hostPort"), p.HostPort, "must equal `containerPort` with `hostNetwork`"))
				}
			}
			return errs
		}),
		unique(path, list, "name", func(p *corev1.ContainerPort) string { return p.Name }),
	)
}

// hostPortsOnce finds containers that want the same port of the node. Init
// containers run before the others, except for sidecars.
func hostPortsOnce(path *field.Path, spec *core.PodSpec) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	scan := func(list []corev1.Container, name string, wanted func(*corev1.Container) bool) {
		for i := range list {
			if !wanted(&list[i]) {
				continue
			}
			for j, p := range list[i].Ports {
				if p.HostPort == 0 {
					continue
				}
				key := fmt.Sprintf("%s/%s/%d", p.HostIP, p.Protocol, p.HostPort)
				if seen[key] {
					errs = append(errs, field.Duplicate(path.Child(name).Index(i).Child("ports").Index(j).Child("hostPort"), key))
				}
				seen[key] = true
			}
		}
	}
	scan(spec.InitContainers, "initContainers", func(c *corev1.Container) bool {
		return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	})
	scan(spec.Containers, "containers", func(*corev1.Container) bool { return true })
	return errs
}

func containerRestart(path *field.Path, c *corev1.Container) field.ErrorList {
	rules := path.Child("restartPolicyRules")
	errs := join(
		optionalOneOf(path.Child("restartPolicy"), c.RestartPolicy,
			corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyOnFailure, corev1.ContainerRestartPolicyNever),
		atMost(rules, len(c.RestartPolicyRules), 20),
		each(rules, c.RestartPolicyRules, func(at *field.Path, rule *corev1.ContainerRestartRule) field.ErrorList {
			if rule.ExitCodes == nil {
				return one(field.Required(at.Child("exitCodes"), ""))
			}
			return oneOf(at.Child("exitCodes", "operator"), rule.ExitCodes.Operator,
				corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn)
		}),
	)
	if len(c.RestartPolicyRules) > 0 && c.RestartPolicy == nil {
		errs = append(errs, field.Required(path.Child("restartPolicy"), "needed with `restartPolicyRules`"))
	}
	return errs
}

func containerSecurity(path *field.Path, context *corev1.SecurityContext) field.ErrorList {
	if context == nil {
		return nil
	}
	errs := join(userID(path.Child("runAsUser"), context.RunAsUser), userID(path.Child("runAsGroup"), context.RunAsGroup))
	if escalation := context.AllowPrivilegeEscalation; escalation != nil && !*escalation && context.Privileged != nil && *context.Privileged {
		errs = append(errs, field.Invalid(path.Child("allowPrivilegeEscalation"), false, "must be true where `privileged` is true"))
	}
	return errs
}
