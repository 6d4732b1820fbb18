package validation

import (
	"fmt"
	"math"
	"reflect"
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
	return []containerList{
		{"containers", spec.Containers},
		{"initContainers", spec.InitContainers},
		{"ephemeralContainers", ephemeral(spec)},
	}
}

// eachContainer applies a rule to every container of a pod.
func eachContainer(
	path *field.Path, spec *core.PodSpec, rule func(at *field.Path, c *corev1.Container) field.ErrorList,
) field.ErrorList {
	var errs field.ErrorList
	for _, list := range containerLists(spec) {
		errs = append(errs, each(path.Child(list.field), list.containers, rule)...)
	}
	return errs
}

// ephemeral returns the ephemeral containers as containers, with the fields that both have.
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

func containers(path *field.Path, spec *core.PodSpec, volumes map[string]*corev1.Volume) field.ErrorList {
	var errs field.ErrorList
	if len(spec.Containers) == 0 {
		errs = append(errs, field.Required(path.Child("containers"), ""))
	}
	seen := map[string]bool{}
	for _, list := range containerLists(spec) {
		unnamed := false
		for i := range list.containers {
			c, at := &list.containers[i], path.Child(list.field).Index(i)
			if seen[c.Name] {
				errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
			}
			if c.Name != "" || list.field != "initContainers" {
				seen[c.Name] = true
			} else {
				unnamed = true
			}
			errs = append(errs, container(at, c, spec, volumes)...)
			switch list.field {
			case "containers":
				errs = append(errs, runningContainer(at, c, spec)...)
				errs = append(errs, containerRestart(at, c)...)
				errs = append(errs, hostPortEquals(at, c, spec)...)
			case "initContainers":
				errs = append(errs, initContainer(at, c, spec)...)
				errs = append(errs, hostPortsOnce(path.Child(list.field), list.containers[i:i+1])...)
			case "ephemeralContainers":
				errs = append(errs, ephemeralContainer(at, c)...)
				errs = append(errs, trimmed(at.Child("image"), c.Image)...)
			}
		}
		seen[""] = seen[""] || unnamed
	}
	errs = append(errs, targets(path.Child("ephemeralContainers"), spec)...)
	return append(errs, hostPortsOnce(path.Child("containers"), spec.Containers)...)
}

// container checks the fields that all kinds of containers have.
func container(
	path *field.Path, c *corev1.Container, spec *core.PodSpec, volumes map[string]*corev1.Volume,
) field.ErrorList {
	return join(
		dnsLabel(path.Child("name"), c.Name),
		required(path.Child("image"), c.Image),
		ports(path.Child("ports"), c.Ports),
		env(path, c),
		containerResources(path.Child("resources"), &c.Resources, spec.ResourceClaims),
		resizePolicy(path.Child("resizePolicy"), c.ResizePolicy, spec.RestartPolicy),
		volumeMounts(path.Child("volumeMounts"), c, volumes),
		volumeDevices(path.Child("volumeDevices"), c, volumes),
		pullPolicy(path.Child("imagePullPolicy"), c.ImagePullPolicy),
		oneOf(path.Child("terminationMessagePolicy"), c.TerminationMessagePolicy,
			corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError),
		containerSecurity(path.Child("securityContext"), c.SecurityContext, spec),
	)
}

func pullPolicy(path *field.Path, policy corev1.PullPolicy) field.ErrorList {
	return oneOf(path, policy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
}

// runningContainer checks the fields of containers that keep running.
func runningContainer(path *field.Path, c *corev1.Container, spec *core.PodSpec) field.ErrorList {
	return append(probes(path, c), lifecycle(path.Child("lifecycle"), c.Lifecycle, spec.TerminationGracePeriodSeconds)...)
}

func sidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// initContainer rejects fields that are only useful for a container that keeps running, unless it
// is a sidecar.
func initContainer(path *field.Path, c *corev1.Container, spec *core.PodSpec) field.ErrorList {
	errs := when(c.RestartPolicy != nil || len(c.RestartPolicyRules) > 0,
		func() field.ErrorList { return initRestart(path, c) })
	if sidecar(c) {
		return append(errs, runningContainer(path, c, spec)...)
	}
	errs = append(
		errs,
		each(
			path.Child("resizePolicy"),
			c.ResizePolicy,
			func(at *field.Path, p *corev1.ContainerResizePolicy) field.ErrorList {
				return check(p.RestartPolicy != corev1.RestartContainer, at.Child("restartPolicy"), p.RestartPolicy,
					"must be NotRequired for init containers without restartPolicy Always")
			},
		)...)
	return append(errs, forbidden(path, "may not be set for init containers without restartPolicy Always",
		member{"lifecycle", c.Lifecycle != nil},
		member{"livenessProbe", c.LivenessProbe != nil},
		member{"readinessProbe", c.ReadinessProbe != nil},
		member{"startupProbe", c.StartupProbe != nil},
	)...)
}

func initRestart(path *field.Path, c *corev1.Container) field.ErrorList {
	if c.RestartPolicy == nil {
		return errorList(field.Required(path.Child("restartPolicy"), "needed with `restartPolicyRules`"))
	}
	return containerRestart(path, c)
}

func ephemeralContainer(path *field.Path, c *corev1.Container) field.ErrorList {
	set := func(v any) bool { return !reflect.ValueOf(v).IsZero() }
	errs := forbidden(path, "cannot be set for an ephemeral container",
		member{"ports", set(c.Ports)},
		member{"resources", set(c.Resources)},
		member{"resizePolicy", set(c.ResizePolicy)},
		member{"restartPolicy", set(c.RestartPolicy)},
		member{"restartPolicyRules", set(c.RestartPolicyRules)},
		member{"lifecycle", set(c.Lifecycle)},
		member{"livenessProbe", set(c.LivenessProbe)},
		member{"readinessProbe", set(c.ReadinessProbe)},
		member{"startupProbe", set(c.StartupProbe)},
	)
	for i := range c.VolumeMounts {
		errs = append(errs, forbidden(path.Child("volumeMounts").Index(i), "cannot be set for an ephemeral container",
			member{"subPath", c.VolumeMounts[i].SubPath != ""},
			member{"subPathExpr", c.VolumeMounts[i].SubPathExpr != ""})...)
	}
	return errs
}

// targets checks that ephemeral containers target existing containers.
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
		return errorList(field.NotFound(at.Child("targetContainerName"), c.TargetContainerName))
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

func ports(path *field.Path, list []corev1.ContainerPort) field.ErrorList {
	names := map[string]bool{}
	return each(path, list, func(at *field.Path, p *corev1.ContainerPort) field.ErrorList {
		errs := oneOf(at.Child("protocol"), p.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
		badName := optionalForm(at.Child("name"), p.Name, validation.IsValidPortName)
		if p.Name != "" && len(badName) == 0 && names[p.Name] {
			badName = append(badName, field.Duplicate(at.Child("name"), p.Name))
		}
		names[p.Name] = true
		errs = append(errs, badName...)
		if p.ContainerPort == 0 {
			errs = append(errs, field.Required(at.Child("containerPort"), ""))
		} else {
			errs = append(errs, between(at.Child("containerPort"), int64(p.ContainerPort), 1, math.MaxUint16)...)
		}
		if p.HostPort != 0 {
			errs = append(errs, between(at.Child("hostPort"), int64(p.HostPort), 1, math.MaxUint16)...)
		}
		return errs
	})
}

// hostPortEquals checks that the host ports of a container in the host network equal its container
// ports.
func hostPortEquals(path *field.Path, c *corev1.Container, spec *core.PodSpec) field.ErrorList {
	if !spec.HostNetwork {
		return nil
	}
	return each(path.Child("ports"), c.Ports, func(at *field.Path, p *corev1.ContainerPort) field.ErrorList {
		return check(p.HostPort == 0 || p.HostPort == p.ContainerPort, at.Child("hostPort"), p.HostPort,
			"must equal `containerPort` with `hostNetwork`")
	})
}

// hostPortsOnce rejects conflicting host ports of containers that run at the same time.
func hostPortsOnce(path *field.Path, list []corev1.Container) field.ErrorList {
	seen := map[string]bool{}
	return each(path, list, func(at *field.Path, c *corev1.Container) field.ErrorList {
		return each(at.Child("ports"), c.Ports, func(at *field.Path, p *corev1.ContainerPort) field.ErrorList {
			key := fmt.Sprintf("%s/%s/%d", p.Protocol, p.HostIP, p.HostPort)
			if p.HostPort != 0 && seen[key] {
				return errorList(field.Duplicate(at.Child("hostPort"), key))
			}
			seen[key] = true
			return nil
		})
	})
}

func containerRestart(path *field.Path, c *corev1.Container) field.ErrorList {
	var errs field.ErrorList
	switch {
	case c.RestartPolicy != nil:
		errs = supported(path.Child("restartPolicy"), *c.RestartPolicy,
			corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyOnFailure, corev1.ContainerRestartPolicyNever)
	case len(c.RestartPolicyRules) > 0:
		errs = errorList(field.Required(path.Child("restartPolicy"), "needed with `restartPolicyRules`"))
	}
	rules := path.Child("restartPolicyRules")
	return join(errs, atMost(rules, len(c.RestartPolicyRules), 20), each(rules, c.RestartPolicyRules, restartRule))
}

func restartRule(at *field.Path, rule *corev1.ContainerRestartRule) field.ErrorList {
	errs := supported(at.Child("action"), rule.Action,
		corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers)
	if rule.ExitCodes == nil {
		return append(errs, field.Required(at.Child("exitCodes"), ""))
	}
	return join(errs,
		supported(at.Child("exitCodes", "operator"), rule.ExitCodes.Operator,
			corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn),
		atMost(at.Child("exitCodes", "values"), len(rule.ExitCodes.Values), 255),
	)
}

// resizePolicy checks the effect of resizes on a container.
func resizePolicy(path *field.Path, list []corev1.ContainerResizePolicy, restart corev1.RestartPolicy) field.ErrorList {
	return append(
		each(path, list, func(_ *field.Path, p *corev1.ContainerResizePolicy) field.ErrorList {
			errs := append(oneOf(path, p.ResourceName, corev1.ResourceCPU, corev1.ResourceMemory),
				oneOf(path, p.RestartPolicy, corev1.NotRequired, corev1.RestartContainer)...)
			ok := restart != corev1.RestartPolicyNever || p.RestartPolicy == corev1.NotRequired
			return append(
				errs,
				check(ok, path, p.RestartPolicy, "must be NotRequired where the pod's `restartPolicy` is Never")...)
		}),
		distinct(path, list, "", func(p *corev1.ContainerResizePolicy) corev1.ResourceName { return p.ResourceName })...,
	)
}
