package registry

import (
	"net/url"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// addPodOptions adds the kinds that the parameters of requests for logs and connections are converted
// to.
func addPodOptions(scheme *runtime.Scheme) error {
	kinds := []runtime.Object{
		&corev1.PodLogOptions{}, &corev1.PodExecOptions{}, &corev1.PodAttachOptions{}, &corev1.PodPortForwardOptions{},
	}
	scheme.AddKnownTypes(corev1.SchemeGroupVersion, kinds...)
	scheme.AddKnownTypes(schema.GroupVersion{Version: runtime.APIVersionInternal}, kinds...)
	for _, add := range []func(*runtime.Scheme) error{
		fromParameters(logOptions), fromParameters(execOptions), fromParameters(attachOptions),
		fromParameters(forwardOptions),
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	return nil
}

// fromParameters adds a conversion of the parameters of a request.
func fromParameters[T any](convert func(parameters, *T)) func(*runtime.Scheme) error {
	return func(scheme *runtime.Scheme) error {
		return scheme.AddConversionFunc((*url.Values)(nil), (*T)(nil), func(from, to any, scope conversion.Scope) error {
			p := parameters{values: *from.(*url.Values), scope: scope, err: new(error)}
			convert(p, to.(*T))
			return *p.err
		})
	}
}

// parameters converts the parameters of a request, and keeps the first error.
type parameters struct {
	values url.Values
	scope  conversion.Scope
	err    *error
}

// setParameter sets a field if the parameter is there.
func setParameter[T any](p parameters, name string, field *T, convert func(*[]string, *T, conversion.Scope) error) {
	texts, ok := p.values[name]
	if !ok || len(texts) == 0 || *p.err != nil {
		return
	}
	*p.err = convert(&texts, field, p.scope)
}

func (p parameters) text(name string, field *string) {
	setParameter(p, name, field, runtime.Convert_Slice_string_To_string)
}

func (p parameters) flag(name string, field *bool) {
	setParameter(p, name, field, runtime.Convert_Slice_string_To_bool)
}

func (p parameters) number(name string, field **int64) {
	setParameter(p, name, field, runtime.Convert_Slice_string_To_Pointer_int64)
}

func logOptions(p parameters, o *corev1.PodLogOptions) {
	p.text("container", &o.Container)
	p.flag("follow", &o.Follow)
	p.flag("previous", &o.Previous)
	p.number("sinceSeconds", &o.SinceSeconds)
	setParameter(p, "sinceTime", &o.SinceTime, metav1.Convert_Slice_string_To_Pointer_v1_Time)
	p.flag("timestamps", &o.Timestamps)
	p.number("tailLines", &o.TailLines)
	p.number("limitBytes", &o.LimitBytes)
	p.flag("insecureSkipTLSVerifyBackend", &o.InsecureSkipTLSVerifyBackend)
	if texts := p.values["stream"]; len(texts) > 0 {
		o.Stream = &texts[0]
	}
}

func execOptions(p parameters, o *corev1.PodExecOptions) {
	p.flag("stdin", &o.Stdin)
	p.flag("stdout", &o.Stdout)
	p.flag("stderr", &o.Stderr)
	p.flag("tty", &o.TTY)
	p.text("container", &o.Container)
	o.Command = p.values["command"]
}

func attachOptions(p parameters, o *corev1.PodAttachOptions) {
	p.flag("stdin", &o.Stdin)
	p.flag("stdout", &o.Stdout)
	p.flag("stderr", &o.Stderr)
	p.flag("tty", &o.TTY)
	p.text("container", &o.Container)
}

func forwardOptions(p parameters, o *corev1.PodPortForwardOptions) {
	setParameter(p, "ports", &o.Ports, metav1.Convert_Slice_string_To_Slice_int32)
}
