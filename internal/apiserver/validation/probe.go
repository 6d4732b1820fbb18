package validation

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

func probes(path *field.Path, c *corev1.Container) field.ErrorList {
	// Only readiness may take more than one success to come back.
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
		errs = append(errs, field.Forbidden(readiness.Child("terminationGracePeriodSeconds"), "may not be set for readiness probes"))
	}
	return errs
}

func probe(path *field.Path, p *corev1.Probe) field.ErrorList {
	if p == nil {
		return nil
	}
	errs := join(
		handler(path, p.Exec, p.HTTPGet, p.TCPSocket, member{"grpc", p.GRPC != nil}),
		nonNegative(path.Child("initialDelaySeconds"), p.InitialDelaySeconds),
		nonNegative(path.Child("timeoutSeconds"), p.TimeoutSeconds),
		nonNegative(path.Child("periodSeconds"), p.PeriodSeconds),
		nonNegative(path.Child("successThreshold"), p.SuccessThreshold),
		nonNegative(path.Child("failureThreshold"), p.FailureThreshold),
	)
	if p.GRPC != nil {
		errs = append(errs, between(path.Child("grpc", "port"), int64(p.GRPC.Port), 1, math.MaxUint16)...)
	}
	if grace := p.TerminationGracePeriodSeconds; grace != nil {
		errs = append(errs, check(*grace > 0, path.Child("terminationGracePeriodSeconds"), *grace, positive)...)
	}
	return errs
}

// lifecycle also holds sleeps to the grace period, which would cut them off.
func lifecycle(path *field.Path, l *corev1.Lifecycle, grace *int64) field.ErrorList {
	if l == nil {
		return nil
	}
	hook := func(at *field.Path, h *corev1.LifecycleHandler) field.ErrorList {
		if h == nil {
			return nil
		}
		errs := handler(at, h.Exec, h.HTTPGet, h.TCPSocket, member{"sleep", h.Sleep != nil})
		if h.Sleep != nil {
			errs = append(errs, between(at.Child("sleep", "seconds"), h.Sleep.Seconds, 0, ptr.Deref(grace, math.MaxInt32))...)
		}
		return errs
	}
	return join(hook(path.Child("postStart"), l.PostStart), hook(path.Child("preStop"), l.PreStop))
}

// handler checks the actions that probes and hooks have in common; each of them
// has one of its own besides.
func handler(path *field.Path, exec *corev1.ExecAction, get *corev1.HTTPGetAction, tcp *corev1.TCPSocketAction, own member) field.ErrorList {
	errs := exactlyOne(path, member{"exec", exec != nil}, member{"httpGet", get != nil}, member{"tcpSocket", tcp != nil}, own)
	if exec != nil && len(exec.Command) == 0 {
		errs = append(errs, field.Required(path.Child("exec", "command"), ""))
	}
	if get != nil {
		at := path.Child("httpGet")
		errs = append(errs, join(
			required(at.Child("path"), get.Path),
			port(at.Child("port"), get.Port),
			oneOf(at.Child("scheme"), get.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS),
			each(at.Child("httpHeaders"), get.HTTPHeaders, func(at *field.Path, h *corev1.HTTPHeader) field.ErrorList {
				return form(at.Child("name"), h.Name, validation.IsHTTPHeaderName)
			}),
		)...)
	}
	if tcp != nil {
		errs = append(errs, port(path.Child("tcpSocket", "port"), tcp.Port)...)
	}
	return errs
}

func port(path *field.Path, p intstr.IntOrString) field.ErrorList {
	if p.Type == intstr.Int {
		return between(path, int64(p.IntVal), 1, math.MaxUint16)
	}
	return form(path, p.StrVal, validation.IsValidPortName)
}
