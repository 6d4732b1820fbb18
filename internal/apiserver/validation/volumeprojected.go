package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Limits of the lifetime of a pod certificate, in seconds.
const (
	shortestCertificate          = 60 * 60
	longestCertificate           = 91 * 24 * 60 * 60
	longestKubernetesCertificate = 24 * 60 * 60
)

// projection is one source of a projected volume, with the paths of its files.
type projection struct {
	source
	paths []string
}

func projected(at *field.Path, s *corev1.ProjectedVolumeSource) field.ErrorList {
	errs := fileMode(at.Child("defaultMode"), s.DefaultMode)
	made := map[string]bool{}
	for i := range s.Sources {
		path := at.Child("sources").Index(i)
		n := 0
		for _, p := range projections(&s.Sources[i]) {
			if !p.set {
				continue
			}
			n++
			errs = append(errs, p.check(path)...)
			for _, file := range p.paths {
				errs = append(errs, check(!made[file], at, file, "two sources make the same file")...)
				made[file] = true
			}
		}
		if n > 1 {
			errs = append(errs, field.Forbidden(path, "a source of a projected volume is of one kind"))
		}
	}
	return errs
}

func projections(p *corev1.VolumeProjection) []projection {
	out := []projection{
		{source: sourceOf("secret", p.Secret, func(at *field.Path, s *corev1.SecretProjection) field.ErrorList {
			return append(required(at.Child("name"), s.Name), each(at.Child("items"), s.Items, keyToPath)...)
		})},
		{source: sourceOf("configMap", p.ConfigMap, func(at *field.Path, s *corev1.ConfigMapProjection) field.ErrorList {
			return append(required(at.Child("name"), s.Name), each(at.Child("items"), s.Items, keyToPath)...)
		})},
		{
			source: sourceOf(
				"downwardAPI",
				p.DownwardAPI,
				func(at *field.Path, s *corev1.DownwardAPIProjection) field.ErrorList {
					return each(at.Child("items"), s.Items, downwardFile)
				},
			),
		},
		{source: sourceOf("serviceAccountToken", p.ServiceAccountToken, tokenProjection)},
		{source: sourceOf("clusterTrustBundle", p.ClusterTrustBundle, trustBundle)},
		{source: sourceOf("podCertificate", p.PodCertificate, podCertificate)},
	}
	if p.Secret != nil {
		out[0].paths = itemPaths(p.Secret.Items)
	}
	if p.ConfigMap != nil {
		out[1].paths = itemPaths(p.ConfigMap.Items)
	}
	if p.DownwardAPI != nil {
		for _, file := range p.DownwardAPI.Items {
			out[2].paths = append(out[2].paths, nonEmpty(file.Path)...)
		}
	}
	if p.ClusterTrustBundle != nil {
		out[4].paths = []string{p.ClusterTrustBundle.Path}
	}
	if c := p.PodCertificate; c != nil {
		out[5].paths = nonEmpty(c.CredentialBundlePath, c.KeyPath, c.CertificateChainPath)
	}
	return out
}

func itemPaths(items []corev1.KeyToPath) []string {
	var out []string
	for i := range items {
		out = append(out, nonEmpty(items[i].Path)...)
	}
	return out
}

// nonEmpty omits empty paths.
func nonEmpty(paths ...string) []string {
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}

func tokenProjection(at *field.Path, t *corev1.ServiceAccountTokenProjection) field.ErrorList {
	errs := filePath(at.Child("path"), t.Path)
	if t.ExpirationSeconds == nil {
		return append(errs, field.Required(at.Child("expirationSeconds"), ""))
	}
	return append(errs, between(at.Child("expirationSeconds"), *t.ExpirationSeconds, 10*60, 1<<32)...)
}

func trustBundle(at *field.Path, b *corev1.ClusterTrustBundleProjection) field.ErrorList {
	errs := filePath(at.Child("path"), b.Path)
	switch {
	case b.Name != nil && b.SignerName != nil:
		errs = append(errs, field.Invalid(at, *b.Name, "only one of `name` and `signerName` may be set"))
	case b.Name != nil:
		errs = append(errs, required(at.Child("name"), *b.Name)...)
		errs = append(errs, wellFormed(at.Child("name"), *b.Name, bundleName)...)
		errs = append(
			errs,
			check(b.LabelSelector == nil, at.Child("labelSelector"), "", "may not be set together with `name`")...)
	case b.SignerName != nil:
		errs = append(errs, signerName(at.Child("signerName"), *b.SignerName)...)
		errs = append(errs, labelSelector(at.Child("labelSelector"), b.LabelSelector)...)
	default:
		errs = append(errs, field.Required(at, "one of `name` and `signerName` must be set"))
	}
	return errs
}

// bundleName checks the name of a ClusterTrustBundle, which may start with a signer and colons.
func bundleName(name string) []string {
	return apivalidation.NameIsDNSSubdomain(name[strings.LastIndex(name, ":")+1:], false)
}

func podCertificate(at *field.Path, c *corev1.PodCertificateProjection) field.ErrorList {
	errs := join(
		signerName(at.Child("signerName"), c.SignerName),
		supported(at.Child("keyType"), c.KeyType, "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"),
	)
	for key := range c.UserAnnotations {
		errs = append(errs, validation.IsDomainPrefixedKey(at.Child("userAnnotations"), strings.ToLower(key))...)
	}
	if apivalidation.ValidateAnnotationsSize(c.UserAnnotations) != nil {
		errs = append(errs, field.TooLong(at.Child("userAnnotations"), "", apivalidation.TotalAnnotationSizeLimitB))
	}
	if c.MaxExpirationSeconds != nil {
		longest := int64(longestCertificate)
		if domain, _, _ := strings.Cut(c.SignerName, "/"); strings.HasSuffix("."+domain, ".kubernetes.io") {
			longest = longestKubernetesCertificate
		}
		errs = append(
			errs,
			between(at.Child("maxExpirationSeconds"), int64(*c.MaxExpirationSeconds), shortestCertificate, longest)...)
	}
	n := 0
	for _, path := range []struct{ field, value string }{
		{"credentialBundlePath", c.CredentialBundlePath}, {"keyPath", c.KeyPath},
		{"certificateChainPath", c.CertificateChainPath},
	} {
		if path.value != "" {
			n++
			errs = append(errs, filePath(at.Child(path.field), path.value)...)
		}
	}
	if n == 0 {
		errs = append(errs,
			field.Required(at, "one of `credentialBundlePath`, `keyPath` and `certificateChainPath` must be set"))
	}
	return errs
}

// signerName checks a domain of at least two labels, a slash, and a name of labels.
func signerName(at *field.Path, name string) field.ErrorList {
	if name == "" {
		return errorList(field.Required(at, ""))
	}
	domain, rest, ok := strings.Cut(name, "/")
	if !ok || strings.Contains(rest, "/") {
		return errorList(field.Invalid(at, name, "must have the form domain/name"))
	}
	errs := check(strings.Contains(domain, "."), at, domain, "must be a domain with a dot in it")
	if len(domain) > validation.DNS1123SubdomainMaxLength {
		errs = append(errs, field.TooLong(at, "", validation.DNS1123SubdomainMaxLength))
	}
	if longest := 2*validation.DNS1123SubdomainMaxLength + validation.DNS1123LabelMaxLength + 2; len(name) > longest {
		errs = append(errs, field.TooLong(at, "", longest))
	}
	for label := range strings.SplitSeq(domain, ".") {
		errs = append(errs, wellFormed(at, label, validation.IsDNS1123Label)...)
	}
	for label := range strings.SplitSeq(rest, ".") {
		errs = append(errs, wellFormed(at, label, validation.IsDNS1123Subdomain)...)
	}
	return errs
}
