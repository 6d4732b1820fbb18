package fleet

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

func (v value) dnsLabel() string {
	text := v.text()
	v.complainAll(text, validation.IsDNS1123Label(text))
	return text
}

// poolName reads the name of a pool. It must be short enough to append the index of a node.
func (v value) poolName() string {
	name := v.dnsLabel()
	if limit := validation.DNS1123LabelMaxLength - len("-65535"); len(name) > limit {
		v.complain("must have at most %d characters", limit)
	}
	return name
}

func (v value) driverName() string {
	text := v.text()
	v.complainAll(text, validation.IsDNS1123Subdomain(text))
	if len(text) > resourcev1.DriverNameMaxLength {
		v.complain("must have at most %d characters", resourcev1.DriverNameMaxLength)
	}
	return text
}

func (v value) labelKey(key string) string {
	v.complainAll(key, validation.IsQualifiedName(key))
	return key
}

func (v value) labelValue() string {
	text := v.text()
	v.complainAll(text, validation.IsValidLabelValue(text))
	return text
}

func (e entry) resourceName() string {
	e.complainAll(e.key, validation.IsQualifiedName(e.key))
	if !strings.Contains(e.key, "/") && !slices.Contains(plainResources, e.key) &&
		!strings.HasPrefix(e.key, corev1.ResourceHugePagesPrefix) {
		e.complain("needs a domain in front, as in example.com/%s; without one there are %s and %s…", e.key,
			strings.Join(plainResources, ", "), corev1.ResourceHugePagesPrefix)
	}
	return e.key
}

// plainResources are the permitted resources without a domain.
var plainResources = []string{"cpu", "memory", "ephemeral-storage", "pods"}

func (v value) quantity() resource.Quantity {
	q, err := resource.ParseQuantity(v.text())
	switch {
	case err != nil:
		v.complain("must be a quantity such as 4, 500m or 80Gi, is %q", v.node.Value)
	case q.Sign() < 0:
		v.complain("must not be negative, is %s", v.node.Value)
	}
	return q
}

// deviceKey reads the name of an attribute or capacity: an identifier, with or without a domain.
func (e entry) deviceKey() resourcev1.QualifiedName {
	domain, id, ok := strings.Cut(e.key, "/")
	if !ok {
		domain, id = "", e.key
	} else {
		e.complainAll(domain, validation.IsDNS1123Subdomain(domain))
	}
	if len(validation.IsCIdentifier(id)) > 0 || len(id) > resourcev1.DeviceMaxIDLength ||
		len(domain) > resourcev1.DeviceMaxDomainLength {
		e.complain("must be an identifier of at most %d characters, with a domain and / in front or without",
			resourcev1.DeviceMaxIDLength)
	}
	return resourcev1.QualifiedName(e.key)
}

var placeholder = regexp.MustCompile(`\{[^}]*\}`)

// deviceName reads a template with {index}, which is appended if it is missing.
func (v value) deviceName() string {
	name := v.template()
	if !strings.Contains(name, "{index}") {
		name += "-{index}"
	}
	sample := place{node: "node", rack: "rack", unit: "unit"}.fill(name)
	v.complainAll(sample, validation.IsDNS1123Label(sample))
	return name
}

// template reads a text with known placeholders only.
func (v value) template() string {
	text := v.text()
	for _, found := range placeholder.FindAllString(text, -1) {
		if !slices.Contains(placeholderNames, found) {
			v.complain("unknown placeholder %s; there are %s", found, strings.Join(placeholderNames, ", "))
		}
	}
	return text
}

func (v value) complainAll(text string, messages []string) {
	for _, message := range messages {
		v.complain("%q: %s", text, message)
	}
}

// LeaseName returns the name of the Lease of a fleet. No node of a fleet has such a name.
func LeaseName(fleetName string) string { return "fleet." + fleetName }
