package client

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/allot-dev/allot/api"
	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
	core "github.com/allot-dev/allot/api/core/v1"
	schedulingv1alpha2 "github.com/allot-dev/allot/api/scheduling/v1alpha2"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Dialect describes how a server differs from allot's own server in API versions. All components of
// a process use the hub versions, whatever the server serves. The zero value is for allot's own
// server and for Kubernetes 1.37.
type Dialect struct {
	// Groups is the version that serves PodGroups and Workloads: one of GroupVersions. Empty means
	// scheduling.k8s.io/v1beta1.
	Groups schema.GroupVersion
	// TaintRules is the version of resource.k8s.io that serves DeviceTaintRules: one of
	// TaintRuleVersions. Empty means v1.
	TaintRules schema.GroupVersion
	// Newer means that the server is of a later release than the types of this client, and may have
	// fields that they lack.
	Newer bool
}

// GroupVersions returns the versions in which a server may serve PodGroups, the preferred one
// first. The last one is allot's own CustomResourceDefinition, for servers without any of the
// others.
func GroupVersions() []schema.GroupVersion {
	return []schema.GroupVersion{
		schedulingv1beta1.SchemeGroupVersion, schedulingv1alpha3.SchemeGroupVersion,
		schedulingv1alpha2.SchemeGroupVersion, allotv1alpha1.SchemeGroupVersion,
	}
}

// TaintRuleVersions returns the versions in which a server may serve DeviceTaintRules, the
// preferred one first.
func TaintRuleVersions() []schema.GroupVersion {
	return []schema.GroupVersion{
		resourcev1.SchemeGroupVersion,
		resourcev1beta2.SchemeGroupVersion,
		resourcev1alpha3.SchemeGroupVersion,
	}
}

// Own reports whether PodGroups are allot's own kind. Pods then join a group by a label, because
// their spec has no field for it.
func (d Dialect) Own() bool { return d.Groups.Group == allotv1alpha1.GroupName }

// GroupVersion returns the version of PodGroups and Workloads.
func (d Dialect) GroupVersion() schema.GroupVersion {
	if d.Groups.Empty() {
		return schedulingv1beta1.SchemeGroupVersion
	}
	return d.Groups
}

// taintRules returns the version of DeviceTaintRules.
func (d Dialect) taintRules() schema.GroupVersion {
	if d.TaintRules.Empty() {
		return resourcev1.SchemeGroupVersion
	}
	return d.TaintRules
}

// check returns an error for versions that cannot be translated.
func (d Dialect) check() error {
	if !d.Groups.Empty() && !slices.Contains(GroupVersions(), d.Groups) {
		return fmt.Errorf("PodGroups of %s are not known", d.Groups)
	}
	if !d.TaintRules.Empty() && !slices.Contains(TaintRuleVersions(), d.TaintRules) {
		return fmt.Errorf("DeviceTaintRules of %s are not known", d.TaintRules)
	}
	return nil
}

// scheme returns api.Scheme with the versions that only other servers have.
func (d Dialect) scheme() *runtime.Scheme {
	if d == (Dialect{}) {
		return api.Scheme
	}
	scheme := api.NewScheme()
	gv := allotv1alpha1.SchemeGroupVersion
	metav1.AddToGroupVersion(scheme, gv)
	scheme.AddKnownTypes(gv, &scheduling.PodGroup{}, &scheduling.PodGroupList{}, &scheduling.Workload{},
		&scheduling.WorkloadList{})
	return scheme
}

// serializer returns a serializer that reads and writes version gv and presents it as version hub.
func (d Dialect) serializer(scheme *runtime.Scheme, gv, hub schema.GroupVersion) runtime.NegotiatedSerializer {
	codecs := api.Codecs
	if scheme != api.Scheme {
		codecs = serializer.NewCodecFactory(scheme)
	}
	switch {
	case gv == schedulingv1alpha2.SchemeGroupVersion:
		return converting{codecs, gv, hub, named(gv)}
	case gv != hub: // same schema, different version
		return translating{codecs.WithoutConversion(), named(gv)}
	case gv.Group == "" && d.Own():
		return translating{codecs.WithoutConversion(), join}
	}
	return codecs.WithoutConversion()
}

// translation modifies an object after it was decoded.
type translation func(obj runtime.Object)

// named sets the version that the server uses in objects, so that events and references name it.
// Items of lists have no version when they are decoded.
func named(gv schema.GroupVersion) translation {
	name := func(t *metav1.TypeMeta, kind string) { t.APIVersion, t.Kind = gv.String(), kind }
	return func(obj runtime.Object) {
		switch o := obj.(type) {
		case *scheduling.PodGroup:
			name(&o.TypeMeta, "PodGroup")
		case *scheduling.Workload:
			name(&o.TypeMeta, "Workload")
		case *scheduling.PodGroupList:
			for i := range o.Items {
				name(&o.Items[i].TypeMeta, "PodGroup")
			}
		case *scheduling.WorkloadList:
			for i := range o.Items {
				name(&o.Items[i].TypeMeta, "Workload")
			}
		}
	}
}

// join sets the PodGroup of pods from their label.
func join(obj runtime.Object) {
	switch o := obj.(type) {
	case *core.Pod:
		joinByLabel(o)
	case *core.PodList:
		for i := range o.Items {
			joinByLabel(&o.Items[i])
		}
	}
}

func joinByLabel(pod *core.Pod) {
	if group := pod.Labels[allotv1alpha1.PodGroupLabel]; group != "" {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	}
}

// translating decodes objects of the same schema under a different version.
type translating struct {
	runtime.NegotiatedSerializer
	translation translation
}

// DecoderToVersion returns a decoder that translates decoded objects.
func (t translating) DecoderToVersion(decoder runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return translatingDecoder{t.NegotiatedSerializer.DecoderToVersion(decoder, gv), t.translation}
}

// converting decodes and encodes objects of a different schema.
type converting struct {
	serializer.CodecFactory
	served, hub schema.GroupVersion
	translation translation
}

// DecoderToVersion returns a decoder to the hub version, whatever version the client requests.
func (c converting) DecoderToVersion(decoder runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	return translatingDecoder{c.CodecFactory.DecoderToVersion(decoder, c.hub), c.translation}
}

// EncoderForVersion returns an encoder to the served version.
func (c converting) EncoderForVersion(encoder runtime.Encoder, _ runtime.GroupVersioner) runtime.Encoder {
	return c.CodecFactory.EncoderForVersion(encoder, c.served)
}

type translatingDecoder struct {
	runtime.Decoder
	translation translation
}

// Decode decodes one object.
func (d translatingDecoder) Decode(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, kind, err := d.Decoder.Decode(data, defaults, into)
	if err == nil {
		d.translation(obj)
	}
	return obj, kind, err
}
