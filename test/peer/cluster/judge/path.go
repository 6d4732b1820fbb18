package judge

import (
	"regexp"
)

// A misnamed path is one in a cause of Kubernetes that is not a path of the object: an index is
// missing, or a name is not that of a field. Allot has the path of the field.
type misnamed struct {
	theirs *regexp.Regexp
	ours   string
}

// Paths are in the form of general: without indexes and keys.
var misnamedPaths = []misnamed{
	{
		regexp.MustCompile(`\.volumeMounts\.(subPath|subPathExpr|mountPropagation|recursiveReadOnly)$`),
		".volumeMounts[].$1",
	},
	{regexp.MustCompile(`\.downwardAPI$`), ".downwardAPI.items[]"},
	{regexp.MustCompile(`\.downwardAPI\.(path|mode|fieldRef|resourceFieldRef)`), ".downwardAPI.items[].$1"},
	{regexp.MustCompile(`\.downwarAPI$`), ".downwardAPI"},
	{regexp.MustCompile(`\.cephFS$`), ".cephfs"},
	{regexp.MustCompile(`\.persistentDisk\.`), ".gcePersistentDisk."},
	{regexp.MustCompile(`\.initiatorname$`), ".initiatorName"},
	{regexp.MustCompile(`\.targetportal$`), ".targetPortal"},
	{regexp.MustCompile(`\.csi\.name$`), ".csi.nodePublishSecretRef.name"},
	{regexp.MustCompile(`\.projected\.path$`), ".projected.sources[].serviceAccountToken.path"},
	{regexp.MustCompile(`\.(requiredDuringScheduling\w+\[\]|podAffinityTerm)\.namespace$`), ".$1.namespaces[]"},
	{regexp.MustCompile(`\.(requiredDuringScheduling\w+|topologySpreadConstraints)\[\]\[\]$`), ".$1[].matchLabelKeys[]"},
	{regexp.MustCompile(`\.podAffinityTerm\[\]$`), ".podAffinityTerm.matchLabelKeys[]"},
	{
		regexp.MustCompile(`\.topologySpreadConstraints\[\]\.{topologyKey, whenUnsatisfiable}$`),
		".topologySpreadConstraints[]",
	},
	{regexp.MustCompile(`\.overhead\.limits\[\]$`), ".overhead[]"},
	{regexp.MustCompile(`\.HostPID$`), ".hostPID"},
	{regexp.MustCompile(`\.HostIPC$`), ".hostIPC"},
	{regexp.MustCompile(`\.conditions\[\]\.Type$`), ".conditions[].type"},
	{
		regexp.MustCompile(`\.extendedResourceClaimStatus\.requestName$`),
		".extendedResourceClaimStatus.requestMappings[].requestName",
	},
	{regexp.MustCompile(` metadata\.annotations\..*`), " metadata.annotations[]"},
	{regexp.MustCompile(`\.requestPolicy\.validRange\.default$`), ".requestPolicy.default"},
	{regexp.MustCompile(`([ .]template)\.(labels|annotations)`), "$1.metadata.$2"},
	{regexp.MustCompile(` status\.Phase$`), " status.phase"},
	{regexp.MustCompile(`\.metadata\.uID$`), ".metadata.uid"},
	// Name and namespace of the Service of a webhook are exchanged, by way of a name that is neither.
	{regexp.MustCompile(`\.clientConfig\.service\.namespace$`), ".clientConfig.service.other"},
	{regexp.MustCompile(`\.clientConfig\.service\.name$`), ".clientConfig.service.namespace"},
	{regexp.MustCompile(`\.clientConfig\.service\.other$`), ".clientConfig.service.name"},
	{regexp.MustCompile(` metadata\.nodeSwapStatus\.`), " status.nodeInfo.swap."},
	{regexp.MustCompile(` metadata\.taints\[\]`), " spec.taints[]"},
	// Events of events.k8s.io have other names.
	{regexp.MustCompile(`^(\w+) involvedObject\b`), "$1 regarding"},
	{regexp.MustCompile(`^(\w+) message$`), "$1 note"},
	{regexp.MustCompile(`^(\w+) source$`), "$1 deprecatedSource"},
	{regexp.MustCompile(`^(\w+) count$`), "$1 deprecatedCount"},
	{regexp.MustCompile(`^(\w+) firstTimestamp$`), "$1 deprecatedFirstTimestamp"},
	{regexp.MustCompile(`^(\w+) lastTimestamp$`), "$1 deprecatedLastTimestamp"},
	{regexp.MustCompile(` status\.(capacity|allocatable)\..*$`), " status.$1[]"},
}

// rightPath returns the correct cause for a cause of Kubernetes in the form of general.
func rightPath(cause string) string {
	for _, m := range misnamedPaths {
		cause = m.theirs.ReplaceAllString(cause, m.ours)
	}
	return cause
}
