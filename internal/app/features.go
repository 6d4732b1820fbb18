package app

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/allot-dev/allot/internal/features"
)

// addFeaturesFlag adds the flag by which features are switched. All parts of a control plane should have the same.
func addFeaturesFlag(flags *pflag.FlagSet, on *features.Set) {
	flags.Var(on, "feature-gates", "features to switch, as in A=false,B=true; all are on by default:\n"+strings.Join(features.Known(), "\n"))
}

// absentKinds are those that the server does not have while their features are off.
func absentKinds(on features.Set) []string {
	var out []string
	if !on.On(features.GenericWorkload) {
		out = append(out, "podgroups", "workloads")
	}
	if !on.On(features.ClusterTemplates) {
		out = append(out, "clusterresourceclaimtemplates")
	}
	if !on.On(features.DeviceTaintRules) {
		out = append(out, "devicetaintrules")
	}
	if !on.On(features.PoolStatus) {
		out = append(out, "resourcepoolstatusrequests")
	}
	return out
}
