package apiserver

import (
	"runtime"

	"k8s.io/apimachinery/pkg/util/version"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/component-base/compatibility"
)

// KubernetesVersion is the Kubernetes release whose API is served.
const KubernetesVersion = "v1.37.2"

// effectiveVersion reports KubernetesVersion. The default is set by the linker, is empty under "go
// run", and cannot be parsed by clients then.
type effectiveVersion struct {
	compatibility.EffectiveVersion
}

func newEffectiveVersion() effectiveVersion {
	return effectiveVersion{compatibility.NewEffectiveVersionFromString(KubernetesVersion, "", "")}
}

// Info implements compatibility.EffectiveVersion. The response of /version has it.
func (v effectiveVersion) Info() *apiversion.Info { return VersionInfo() }

// VersionInfo returns the response of /version.
func VersionInfo() *apiversion.Info {
	v := version.MustParse(KubernetesVersion)
	return &apiversion.Info{
		Major:      version.Itoa(v.Major()),
		Minor:      version.Itoa(v.Minor()),
		GitVersion: KubernetesVersion + "+allot",
		GoVersion:  runtime.Version(),
		Compiler:   runtime.Compiler,
		Platform:   runtime.GOOS + "/" + runtime.GOARCH,
	}
}
