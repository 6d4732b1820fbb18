package app

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/allot-dev/allot/internal/features"
)

// addFeaturesFlag adds the flag for feature gates. All parts of a control plane should have the
// same value.
func addFeaturesFlag(flags *pflag.FlagSet, on *features.Set) {
	flags.Var(on, "feature-gates",
		"features to switch, as in A=false,B=true; all are on by default:\n"+strings.Join(features.Known(), "\n"))
}

// absentKinds returns the kinds that the server does not serve while their features are disabled.
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
