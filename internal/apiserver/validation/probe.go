package validation

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func probes(path *field.Path, c *corev1.Container) field.ErrorList {
	// Only readiness probes may require more than one success.
	once := func(at *field.Path, p *corev1.Probe) field.ErrorList {
		if p == nil {
			return nil
		}
		return check(p.SuccessThreshold == 1, at.Child("successThreshold"), p.SuccessThreshold, "must be 1")
	}
	liveness, readiness, startup := path.Child("livenessProbe"), path.Child("readinessProbe"), path.Child("startupProbe")
	errs := join(
		probe(liveness, c.LivenessProbe), once(liveness, c.LivenessProbe),
		probe(readiness, c.ReadinessProbe),
		probe(startup, c.StartupProbe), once(startup, c.StartupProbe),
	)
	if p := c.ReadinessProbe; p != nil && p.TerminationGracePeriodSeconds != nil {
		errs = append(errs, field.Invalid(readiness.Child("terminationGracePeriodSeconds"), *p.TerminationGracePeriodSeconds,
			"may not be set for readiness probes"))
	}
	return errs
}

func probe(path *field.Path, p *corev1.Probe) field.ErrorList {
	if p == nil {
		return nil
	}
	errs := join(
		handler(
			path,
			p.Exec,
			p.HTTPGet,
			p.TCPSocket,
			sourceOf("grpc", p.GRPC, func(at *field.Path, a *corev1.GRPCAction) field.ErrorList {
				return port(at.Child("port"), intstr.FromInt32(a.Port))
			}),
		),
		nonNegative(path.Child("initialDelaySeconds"), p.InitialDelaySeconds),
		nonNegative(path.Child("timeoutSeconds"), p.TimeoutSeconds),
		nonNegative(path.Child("periodSeconds"), p.PeriodSeconds),
		nonNegative(path.Child("successThreshold"), p.SuccessThreshold),
		nonNegative(path.Child("failureThreshold"), p.FailureThreshold),
	)
	if grace := p.TerminationGracePeriodSeconds; grace != nil {
		errs = append(errs, check(*grace > 0, path.Child("terminationGracePeriodSeconds"), *grace, positive)...)
	}
	return errs
}

// lifecycle checks lifecycle hooks. A sleep must not exceed the grace period, which would cut it
// off.
func lifecycle(path *field.Path, l *corev1.Lifecycle, grace *int64) field.ErrorList {
	if l == nil {
		return nil
	}
	hook := func(at *field.Path, h *corev1.LifecycleHandler) field.ErrorList {
		if h == nil {
			return nil
		}
		return handler(
			at,
			h.Exec,
			h.HTTPGet,
			h.TCPSocket,
			sourceOf("sleep", h.Sleep, func(at *field.Path, s *corev1.SleepAction) field.ErrorList {
				if grace == nil {
					return nil
				}
				return check(0 <= s.Seconds && s.Seconds <= *grace, at, s.Seconds,
					"must not be longer than `terminationGracePeriodSeconds`")
			}),
		)
	}
	return join(hook(path.Child("postStart"), l.PostStart), hook(path.Child("preStop"), l.PreStop))
}

// handler checks the action of a probe or hook. Both can have exec, httpGet and tcpSocket; own is the
// action that only one of them can have: grpc or sleep.
func handler(
	path *field.Path, exec *corev1.ExecAction, get *corev1.HTTPGetAction, tcp *corev1.TCPSocketAction, own source,
) field.ErrorList {
	actions := []source{
		sourceOf("exec", exec, func(at *field.Path, a *corev1.ExecAction) field.ErrorList {
			if len(a.Command) > 0 {
				return nil
			}
			return errorList(field.Required(at.Child("command"), ""))
		}),
		sourceOf("httpGet", get, httpGet),
		sourceOf("tcpSocket", tcp,
			func(at *field.Path, a *corev1.TCPSocketAction) field.ErrorList { return port(at.Child("port"), a.Port) }),
		own,
	}
	return onlyOneSource(path, actions)
}

func httpGet(at *field.Path, a *corev1.HTTPGetAction) field.ErrorList {
	return join(
		required(at.Child("path"), a.Path),
		port(at.Child("port"), a.Port),
		supported(at.Child("scheme"), a.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS),
		each(at.Child("httpHeaders"), a.HTTPHeaders, func(_ *field.Path, h *corev1.HTTPHeader) field.ErrorList {
			return wellFormed(at.Child("httpHeaders"), h.Name, validation.IsHTTPHeaderName)
		}),
	)
}

func port(path *field.Path, p intstr.IntOrString) field.ErrorList {
	if p.Type == intstr.Int {
		return between(path, int64(p.IntVal), 1, math.MaxUint16)
	}
	return wellFormed(path, p.StrVal, validation.IsValidPortName)
}
