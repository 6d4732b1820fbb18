package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/testkit/line"
)

// mainContainer is the name of a pod's first container.
const mainContainer = "c"

// podFit parses the arguments of a pod that nodes are filtered by:
//
//	cpu= memory= example.com/thing=      of the container
//	init=cpu=N… sidecar=cpu=N…           of one init container each, in this order
//	image=NAME…                          of the containers, and of additional ones
//	more=RESOURCE=N…                     of one additional container each
//	limit=RESOURCE=N                     of the first container
//	overhead=cpu=N podlevel=cpu=N podlimit=RESOURCE=N  of the pod
//	hostport=[IP:]PORT[/PROTOCOL]…       used on the node
//	select=K=V… tolerate=KEY… prefer=K=V[@weight=N]…
//	near= apart= like= dislike=TOPOLOGYKEY:K=V…  pod affinity and anti-affinity, required and preferred, followed by
//	                                     @ns=NAME @nsof=K=V @match=KEY @mismatch=KEY @weight=N
//	spread=TOPOLOGYKEY:K=V…              followed by @soft @skew=N @min=N @taints @anywhere @match=KEY
//	mount=CLAIM… ephemeral=VOLUME… empty=VOLUME…  volumes
func podFit(spec *core.PodSpec, l *line.Line) error {
	requests, err := amounts(l)
	if err != nil {
		return err
	}
	spec.Containers = []corev1.Container{{Name: mainContainer, Resources: corev1.ResourceRequirements{Requests: requests}}}
	if err := resources(spec, l); err != nil {
		return err
	}
	for i, image := range l.All("image") {
		if i == len(spec.Containers) {
			spec.Containers = append(spec.Containers, corev1.Container{Name: "image" + strconv.Itoa(i)})
		}
		spec.Containers[i].Image = image
	}
	if spec.Containers[0].Ports, err = hostPorts(l.All("hostport")); err != nil {
		return err
	}
	spec.NodeSelector = pairs(l.All("select"))
	for _, taint := range l.All("tolerate") {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists})
	}
	if spec.Affinity, err = podAffinity(l); err != nil {
		return err
	}
	if spec.TopologySpreadConstraints, err = spread(l.All("spread")); err != nil {
		return err
	}
	podVolumes(spec, l)
	return nil
}

func amounts(l *line.Line) (corev1.ResourceList, error) {
	list := corev1.ResourceList{}
	for _, name := range []string{"cpu", "memory", "example.com/thing"} {
		if !l.Has(name) {
			continue
		}
		amount, err := quantity.ParseQuantity(l.Text(name, ""))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list[corev1.ResourceName(name)] = amount
	}
	return list, nil
}

// oneAmount parses RESOURCE=N.
func oneAmount(text string) (corev1.ResourceList, error) {
	name, value, _ := strings.Cut(text, "=")
	amount, err := quantity.ParseQuantity(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return corev1.ResourceList{corev1.ResourceName(name): amount}, nil
}

// resources adds the resources of init containers, sidecars and the pod itself.
func resources(spec *core.PodSpec, l *line.Line) error {
	for _, kind := range []string{"init", "sidecar"} {
		for i, text := range l.All(kind) {
			requests, err := oneAmount(text)
			if err != nil {
				return err
			}
			c := corev1.Container{Name: kind + strconv.Itoa(i), Resources: corev1.ResourceRequirements{Requests: requests}}
			if kind == "sidecar" {
				c.RestartPolicy = ptr(corev1.ContainerRestartPolicyAlways)
			}
			spec.InitContainers = append(spec.InitContainers, c)
		}
	}
	for i, text := range l.All("more") {
		requests, err := oneAmount(text)
		if err != nil {
			return err
		}
		spec.Containers = append(spec.Containers, corev1.Container{
			Name: "more" + strconv.Itoa(i), Resources: corev1.ResourceRequirements{Requests: requests},
		})
	}
	for _, text := range l.All("overhead") {
		overhead, err := oneAmount(text)
		if err != nil {
			return err
		}
		spec.Overhead = overhead
	}
	for _, text := range l.All("podlevel") {
		requests, err := oneAmount(text)
		if err != nil {
			return err
		}
		spec.Resources = &corev1.ResourceRequirements{Requests: requests}
	}
	return limits(spec, l)
}

// limits adds the limits of the first container and of the pod itself.
func limits(spec *core.PodSpec, l *line.Line) error {
	for _, text := range l.All("limit") {
		limits, err := oneAmount(text)
		if err != nil {
			return err
		}
		spec.Containers[0].Resources.Limits = limits
	}
	for _, text := range l.All("podlimit") {
		limits, err := oneAmount(text)
		if err != nil {
			return err
		}
		if spec.Resources == nil {
			spec.Resources = &corev1.ResourceRequirements{}
		}
		spec.Resources.Limits = limits
	}
	return nil
}

func hostPorts(list []string) ([]corev1.ContainerPort, error) {
	var ports []corev1.ContainerPort
	for _, text := range list {
		port := corev1.ContainerPort{}
		if ip, rest, ok := strings.Cut(text, ":"); ok {
			port.HostIP, text = ip, rest
		}
		number, protocol, _ := strings.Cut(text, "/")
		port.Protocol = corev1.Protocol(protocol)
		n, err := strconv.ParseInt(number, 10, 32)
		if err != nil {
			return nil, err
		}
		port.HostPort = int32(n)
		ports = append(ports, port)
	}
	return ports, nil
}

func podAffinity(l *line.Line) (*corev1.Affinity, error) {
	near, apart := &corev1.PodAffinity{}, &corev1.PodAntiAffinity{}
	for _, kind := range []struct {
		name      string
		required  *[]corev1.PodAffinityTerm
		preferred *[]corev1.WeightedPodAffinityTerm
	}{
		{"near", &near.RequiredDuringSchedulingIgnoredDuringExecution, nil},
		{"apart", &apart.RequiredDuringSchedulingIgnoredDuringExecution, nil},
		{"like", nil, &near.PreferredDuringSchedulingIgnoredDuringExecution},
		{"dislike", nil, &apart.PreferredDuringSchedulingIgnoredDuringExecution},
	} {
		for _, text := range l.All(kind.name) {
			term, weight, err := affinityTerm(text)
			if err != nil {
				return nil, err
			}
			if kind.required != nil {
				*kind.required = append(*kind.required, term)
			} else {
				*kind.preferred = append(*kind.preferred, corev1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: term})
			}
		}
	}
	affinity := &corev1.Affinity{PodAffinity: near, PodAntiAffinity: apart}
	for _, text := range l.All("prefer") {
		text, options, err := optionsOf(text)
		if err != nil {
			return nil, err
		}
		if affinity.NodeAffinity == nil {
			affinity.NodeAffinity = &corev1.NodeAffinity{}
		}
		list := &affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		*list = append(
			*list,
			corev1.PreferredSchedulingTerm{
				Weight:     options.number("weight", 1),
				Preference: labelSelector(text).NodeSelectorTerms[0],
			},
		)
	}
	return affinity, nil
}

// options are the modifiers of a term: @NAME or @NAME=VALUE.
type options struct {
	values  map[string][]string
	numbers map[string]int32
}

func optionsOf(text string) (string, *options, error) {
	parts := strings.Split(text, "@")
	o := &options{values: map[string][]string{}, numbers: map[string]int32{}}
	for _, part := range parts[1:] {
		name, value, _ := strings.Cut(part, "=")
		o.values[name] = append(o.values[name], value)
		if slices.Contains([]string{"weight", "skew", "min"}, name) {
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return "", nil, err
			}
			o.numbers[name] = int32(n)
		}
	}
	return parts[0], o, nil
}

func (o *options) has(name string) bool { return len(o.values[name]) > 0 }

func (o *options) number(name string, otherwise int32) int32 {
	if n, ok := o.numbers[name]; ok {
		return n
	}
	return otherwise
}

func affinityTerm(text string) (corev1.PodAffinityTerm, int32, error) {
	text, options, err := optionsOf(text)
	if err != nil {
		return corev1.PodAffinityTerm{}, 0, err
	}
	topology, label, _ := strings.Cut(text, ":")
	term := corev1.PodAffinityTerm{
		TopologyKey: topology, LabelSelector: labelsOf(label), Namespaces: options.values["ns"],
		MatchLabelKeys: options.values["match"], MismatchLabelKeys: options.values["mismatch"],
	}
	if options.has("nsof") {
		term.NamespaceSelector = labelsOf(options.values["nsof"][0])
	}
	return term, options.number("weight", 1), nil
}

// labelsOf returns a selector for one label, or for everything if there is none.
func labelsOf(label string) *metav1.LabelSelector {
	if label == "" {
		return &metav1.LabelSelector{}
	}
	return &metav1.LabelSelector{MatchLabels: pairs([]string{label})}
}

func spread(list []string) ([]corev1.TopologySpreadConstraint, error) {
	var constraints []corev1.TopologySpreadConstraint
	for _, text := range list {
		text, options, err := optionsOf(text)
		if err != nil {
			return nil, err
		}
		topology, label, _ := strings.Cut(text, ":")
		c := corev1.TopologySpreadConstraint{
			MaxSkew: options.number("skew", 1), TopologyKey: topology, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: labelsOf(label), MatchLabelKeys: options.values["match"],
		}
		if options.has("soft") {
			c.WhenUnsatisfiable = corev1.ScheduleAnyway
		}
		if options.has("min") {
			c.MinDomains = ptr(options.number("min", 1))
		}
		if options.has("taints") {
			c.NodeTaintsPolicy = ptr(corev1.NodeInclusionPolicyHonor)
		}
		if options.has("anywhere") {
			c.NodeAffinityPolicy = ptr(corev1.NodeInclusionPolicyIgnore)
		}
		constraints = append(constraints, c)
	}
	return constraints, nil
}
