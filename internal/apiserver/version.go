package apiserver

import (
	"runtime"

	"k8s.io/apimachinery/pkg/util/version"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/component-base/compatibility"
)

// KubernetesVersion is the release whose API is served.
const KubernetesVersion = "v1.37.2"

// effectiveVersion reports KubernetesVersion. The default takes what the linker
// was told, which is nothing under "go run", and clients cannot parse that.
type effectiveVersion struct {
	compatibility.EffectiveVersion
}

func newEffectiveVersion() effectiveVersion {
	return effectiveVersion{compatibility.NewEffectiveVersionFromString(KubernetesVersion, "", "")}
}

// Info implements compatibility.EffectiveVersion; it is what /version answers.
func (v effectiveVersion) Info() *apiversion.Info { return VersionInfo() }

// VersionInfo is the answer of /version.
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
