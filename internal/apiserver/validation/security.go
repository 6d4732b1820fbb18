package validation

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/node/util/sysctl"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
)

func podSecurity(path *field.Path, spec *core.PodSpec) field.ErrorList {
	context := spec.SecurityContext
	if context == nil {
		return nil
	}
	return join(
		userID(path.Child("runAsUser"), context.RunAsUser),
		userID(path.Child("runAsGroup"), context.RunAsGroup),
		userID(path.Child("fsGroup"), context.FSGroup),
		each(path.Child("supplementalGroups"), context.SupplementalGroups, userID),
		sysctls(path.Child("sysctls"), context.Sysctls, spec),
		optionalSupported(path.Child("fsGroupChangePolicy"), context.FSGroupChangePolicy, corev1.FSGroupChangeAlways,
			corev1.FSGroupChangeOnRootMismatch),
		optionalSupported(path.Child("supplementalGroupsPolicy"), context.SupplementalGroupsPolicy,
			corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict),
		optionalSupported(path.Child("seLinuxChangePolicy"), context.SELinuxChangePolicy,
			corev1.SELinuxChangePolicyRecursive, corev1.SELinuxChangePolicyMountOption),
		seccomp(path.Child("seccompProfile"), context.SeccompProfile),
		appArmor(path.Child("appArmorProfile"), context.AppArmorProfile),
		windowsOptions(path.Child("windowsOptions"), context.WindowsOptions),
	)
}

func containerSecurity(path *field.Path, context *corev1.SecurityContext, spec *core.PodSpec) field.ErrorList {
	if context == nil {
		return nil
	}
	errs := join(
		userID(path.Child("runAsUser"), context.RunAsUser),
		userID(path.Child("runAsGroup"), context.RunAsGroup),
		optionalSupported(path.Child("procMount"), context.ProcMount, corev1.DefaultProcMount, corev1.UnmaskedProcMount),
		seccomp(path.Child("seccompProfile"), context.SeccompProfile),
		appArmor(path.Child("appArmorProfile"), context.AppArmorProfile),
		windowsOptions(path.Child("windowsOptions"), context.WindowsOptions),
	)
	if ptr.Deref(context.ProcMount, "") == corev1.UnmaskedProcMount && ptr.Deref(spec.HostUsers, true) {
		errs = append(errs,
			field.Invalid(path.Child("procMount"), *context.ProcMount, "Unmasked needs `hostUsers` to be false"))
	}
	if !ptr.Deref(context.AllowPrivilegeEscalation, true) {
		errs = append(errs, check(!ptr.Deref(context.Privileged, false), path, field.OmitValueType{},
			"`allowPrivilegeEscalation` must be true where `privileged` is")...)
		admin := context.Capabilities != nil && slices.Contains(context.Capabilities.Add, "CAP_SYS_ADMIN")
		errs = append(
			errs,
			check(!admin, path, field.OmitValueType{},
				"`allowPrivilegeEscalation` must be true with the capability CAP_SYS_ADMIN")...)
	}
	return errs
}

// optionalSupported is supported for a value that may be absent.
func optionalSupported[T ~string](path *field.Path, value *T, allowed ...T) field.ErrorList {
	if value == nil {
		return nil
	}
	return supported(path, *value, allowed...)
}

func userID(path *field.Path, id *int64) field.ErrorList {
	if id == nil {
		return nil
	}
	var errs field.ErrorList
	for _, message := range validation.IsValidUserID(*id) {
		errs = append(errs, field.Invalid(path, *id, message))
	}
	return errs
}

// sysctlForm matches the name of a sysctl: words separated by dots or slashes.
var sysctlForm = regexp.MustCompile(`^[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$`)

func sysctls(path *field.Path, list []corev1.Sysctl, spec *core.PodSpec) field.ErrorList {
	seen := map[string]bool{}
	return each(path, list, func(at *field.Path, s *corev1.Sysctl) field.ErrorList {
		at = at.Child("name")
		var errs field.ErrorList
		switch {
		case s.Name == "":
			errs = append(errs, field.Required(at, ""))
		case len(s.Name) > 253 || !sysctlForm.MatchString(s.Name):
			errs = append(errs,
				field.Invalid(at, s.Name, "must be lower-case words separated by dots or slashes, of at most 253 characters"))
		case seen[s.Name]:
			errs = append(errs, field.Duplicate(at, s.Name))
		}
		seen[s.Name] = true
		kernel, _, _ := sysctl.GetNamespace(s.Name)
		return join(errs,
			check(!spec.HostNetwork || kernel != sysctl.NetNamespace, at, s.Name, "may not be set with `hostNetwork`"),
			check(!spec.HostIPC || kernel != sysctl.IPCNamespace, at, s.Name, "may not be set with `hostIPC`"),
		)
	})
}

func seccomp(path *field.Path, p *corev1.SeccompProfile) field.ErrorList {
	if p == nil {
		return nil
	}
	at := path.Child("localhostProfile")
	errs := oneOf(path.Child("type"), p.Type,
		corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)
	switch {
	case p.Type != corev1.SeccompProfileTypeLocalhost:
		return append(
			errs,
			check(p.LocalhostProfile == nil, at, ptr.Deref(p.LocalhostProfile, ""),
				"may only be set where `type` is Localhost")...)
	case p.LocalhostProfile == nil:
		return append(errs, field.Required(at, "needed where `type` is Localhost"))
	}
	return append(errs, relativePath(at, *p.LocalhostProfile)...)
}

// longestAppArmorProfile is the maximum length of a path in Linux.
const longestAppArmorProfile = 4095

func appArmor(path *field.Path, p *corev1.AppArmorProfile) field.ErrorList {
	if p == nil {
		return nil
	}
	at, name := path.Child("localhostProfile"), ptr.Deref(p.LocalhostProfile, "")
	errs := oneOf(path.Child("type"), p.Type,
		corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined)
	switch {
	case len(errs) > 0:
	case p.Type != corev1.AppArmorProfileTypeLocalhost:
		errs = check(p.LocalhostProfile == nil, at, name, "may only be set where `type` is Localhost")
	case name == "":
		errs = errorList(field.Required(at, "needed where `type` is Localhost"))
	default:
		errs = check(strings.TrimSpace(name) == name, at, name, "must not begin or end with whitespace")
		if len(name) > longestAppArmorProfile {
			errs = append(errs, field.TooLong(at, "", longestAppArmorProfile))
		}
	}
	return errs
}

// Forms of a Windows account, DOMAIN\user.
var (
	netBIOSForm  = regexp.MustCompile(`^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$`)
	accountRunes = `"/\:;|=,+*?<>@[]`
)

func windowsOptions(path *field.Path, o *corev1.WindowsSecurityContextOptions) field.ErrorList {
	if o == nil {
		return nil
	}
	var errs field.ErrorList
	if name := o.GMSACredentialSpecName; name != nil {
		errs = append(errs, wellFormed(path.Child("gmsaCredentialSpecName"), *name, validation.IsDNS1123Subdomain)...)
	}
	if content := o.GMSACredentialSpec; content != nil {
		errs = append(
			errs,
			check(*content != "" && len(*content) <= 64*1024, path.Child("gmsaCredentialSpec"), field.OmitValueType{},
				"must have between 1 and 65536 bytes")...)
	}
	if name := o.RunAsUserName; name != nil {
		errs = append(errs, wellFormed(path.Child("runAsUserName"), *name, windowsAccount)...)
	}
	return errs
}

func windowsAccount(name string) []string {
	user := name
	if domain, after, ok := strings.Cut(name, `\`); ok {
		user = after
		dns := func(domain string) bool { return len(validation.IsDNS1123Subdomain(strings.ToLower(domain))) == 0 }
		if !netBIOSForm.MatchString(domain) && !dns(domain) || len(domain) >= 256 {
			return []string{"the domain must be a NetBIOS or DNS name"}
		}
	}
	switch {
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return []string{"must not have control characters"}
	case strings.Trim(user, ". ") == "":
		return []string{"the user must have a character that is neither a dot nor a space"}
	case len(user) > 104:
		return []string{"the user must have at most 104 characters"}
	case strings.ContainsAny(user, accountRunes):
		return []string{"the user must have none of the characters " + accountRunes}
	}
	return nil
}

// hostUsers rejects fields that cannot be used in a user namespace.
func hostUsers(path *field.Path, spec *core.PodSpec) field.ErrorList {
	if ptr.Deref(spec.HostUsers, true) {
		return nil
	}
	const message = "may not be set where `hostUsers` is false"
	return append(
		forbidden(path, message, member{"hostNetwork", spec.HostNetwork}, member{"hostPID", spec.HostPID},
			member{"hostIPC", spec.HostIPC}),
		eachContainer(path, spec, func(at *field.Path, c *corev1.Container) field.ErrorList {
			return forbidden(at, message, member{"volumeDevices", len(c.VolumeDevices) > 0})
		})...,
	)
}

// hostProcess checks that either all containers are processes of a Windows node, or none.
func hostProcess(path *field.Path, spec *core.PodSpec) field.ErrorList {
	var ofPod *bool
	if spec.SecurityContext != nil && spec.SecurityContext.WindowsOptions != nil {
		ofPod = spec.SecurityContext.WindowsOptions.HostProcess
	}
	all, host := 0, 0
	errs := eachContainer(path, spec, func(at *field.Path, c *corev1.Container) field.ErrorList {
		own := ofPod
		all++
		if s := c.SecurityContext; s != nil && s.WindowsOptions != nil && s.WindowsOptions.HostProcess != nil {
			own = s.WindowsOptions.HostProcess
		}
		if ptr.Deref(own, false) {
			host++
		}
		return check(
			ofPod == nil || *own == *ofPod,
			at.Child("securityContext", "windowsOptions", "hostProcess"),
			ptr.Deref(own, false),
			"must be the same as in the pod's security context",
		)
	})
	if host == 0 {
		return errs
	}
	return join(
		errs,
		check(host == all, path, "", "either all containers are processes of the node, or none"),
		check(spec.HostNetwork, path.Child("hostNetwork"), false,
			"must be true with containers that are processes of the node"),
	)
}

// forOS rejects fields that the pod's operating system does not support.
func forOS(path *field.Path, spec *core.PodSpec) field.ErrorList {
	if spec.OS == nil {
		return nil
	}
	pod := path.Child("securityContext")
	switch spec.OS.Name {
	case corev1.Linux:
		const message = "may not be set for a Linux pod"
		errs := eachContainer(path, spec, func(at *field.Path, c *corev1.Container) field.ErrorList {
			return forbidden(at.Child("securityContext"), message,
				member{"windowsOptions", c.SecurityContext != nil && c.SecurityContext.WindowsOptions != nil})
		})
		return append(
			errs,
			forbidden(pod, message,
				member{"windowsOptions", spec.SecurityContext != nil && spec.SecurityContext.WindowsOptions != nil})...)
	case corev1.Windows:
		const message = "may not be set for a Windows pod"
		errs := eachContainer(path, spec, func(at *field.Path, c *corev1.Container) field.ErrorList {
			if c.SecurityContext == nil {
				return nil
			}
			return forbidden(at.Child("securityContext"), message, linuxContainerFields(c.SecurityContext)...)
		})
		if spec.SecurityContext != nil {
			errs = append(errs, forbidden(pod, message, linuxPodFields(spec.SecurityContext)...)...)
		}
		return append(errs, forbidden(path, message,
			member{"hostUsers", spec.HostUsers != nil},
			member{"hostPID", spec.HostPID},
			member{"hostIPC", spec.HostIPC},
			member{"shareProcessNamespace", spec.ShareProcessNamespace != nil},
		)...)
	case "":
		return errorList(field.Required(path.Child("os", "name"), ""))
	}
	return supported(path.Child("os"), spec.OS.Name, corev1.Linux, corev1.Windows)
}

func linuxPodFields(s *corev1.PodSecurityContext) []member {
	return []member{
		{"appArmorProfile", s.AppArmorProfile != nil},
		{"seLinuxOptions", s.SELinuxOptions != nil},
		{"seccompProfile", s.SeccompProfile != nil},
		{"fsGroup", s.FSGroup != nil},
		{"fsGroupChangePolicy", s.FSGroupChangePolicy != nil},
		{"sysctls", len(s.Sysctls) > 0},
		{"runAsUser", s.RunAsUser != nil},
		{"runAsGroup", s.RunAsGroup != nil},
		{"supplementalGroups", s.SupplementalGroups != nil},
		{"supplementalGroupsPolicy", s.SupplementalGroupsPolicy != nil},
		{"seLinuxChangePolicy", s.SELinuxChangePolicy != nil},
	}
}

func linuxContainerFields(s *corev1.SecurityContext) []member {
	return []member{
		{"appArmorProfile", s.AppArmorProfile != nil},
		{"seLinuxOptions", s.SELinuxOptions != nil},
		{"seccompProfile", s.SeccompProfile != nil},
		{"capabilities", s.Capabilities != nil},
		{"readOnlyRootFilesystem", s.ReadOnlyRootFilesystem != nil},
		{"privileged", s.Privileged != nil},
		{"allowPrivilegeEscalation", s.AllowPrivilegeEscalation != nil},
		{"procMount", s.ProcMount != nil},
		{"runAsUser", s.RunAsUser != nil},
		{"runAsGroup", s.RunAsGroup != nil},
	}
}

// hostname checks the host name of a pod.
func hostname(path *field.Path, spec *core.PodSpec) field.ErrorList {
	if spec.HostnameOverride == nil {
		return nil
	}
	at, name := path.Child("hostnameOverride"), *spec.HostnameOverride
	errs := wellFormed(at, name, func(name string) []string { return apivalidation.NameIsDNSSubdomain(name, false) })
	if len(name) > 64 {
		errs = append(errs, field.TooLong(at, "", 64))
	}
	if ptr.Deref(spec.SetHostnameAsFQDN, false) || spec.HostNetwork {
		errs = append(errs, field.Forbidden(at, "may not be set with `setHostnameAsFQDN` or `hostNetwork`"))
	}
	return errs
}
