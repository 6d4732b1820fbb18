package conformance

import (
	"bytes"
	"strings"
	"text/template"
)

// group is a PodGroup with at most one claim, from a template.
type group struct {
	Name     string
	MinCount int    // 0 for the basic policy
	Template string // template of its entry "shared"; no entry if empty
}

// pod is a pod, or Count pods.
type pod struct {
	Name   string
	Group  string
	Shares string // template of its group's entry "shared", which it uses
	Own    string // template of a claim of its own
	Claim  string // existing claim
	Asks   string // extended resource, of which it requests one
	RunFor string
}

const groupText = `
{{- define "policy"}}{{if .MinCount}}{gang: {minCount: {{.MinCount}}}}{{else}}{basic: {}}{{end}}{{end -}}
apiVersion: {{groups}}
kind: PodGroup
metadata: {name: {{.Name}}}
spec:
  schedulingPolicy: {{template "policy" .}}
{{- if .Template}}
  resourceClaims: [{name: shared, resourceClaimTemplateName: {{.Template}}}]
{{- end}}
`

const podText = `
apiVersion: v1
kind: Pod
metadata:
  name: {{.Name}}
{{- if .RunFor}}
  annotations: {allot.dev/run-for: {{.RunFor}}}
{{- end}}
{{- if and .Group labels}}
  labels: {allot.dev/pod-group: {{.Group}}}
{{- end}}
spec:
{{- if scheduler}}
  schedulerName: {{scheduler}}
{{- end}}
{{- if and .Group (not labels)}}
  schedulingGroup: {podGroupName: {{.Group}}}
{{- end}}
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: none.invalid/none
    resources: { {{- if .Asks}}limits: { {{- .Asks}}: 1}, {{end}}claims: [{{if .Shares}}{name: shared}{{else if .Own}}{name: own}{{else if .Claim}}{name: claim}{{end}}]}
{{- if or .Shares .Own .Claim}}
  resourceClaims:
{{- end}}
{{- if .Shares}}
  - {name: shared, {{shares .}}}
{{- end}}
{{- if .Own}}
  - {name: own, resourceClaimTemplateName: {{.Own}}}
{{- end}}
{{- if .Claim}}
  - {name: claim, resourceClaimName: {{.Claim}}}
{{- end}}
`

const claimText = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: %[1]s}
spec: {devices: {requests: [{name: device, exactly: {deviceClassName: %[2]s}}]}}
`

const templateText = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: %[1]s}
spec: {spec: {devices: {requests: [{name: device, exactly: {deviceClassName: %[2]s, count: %[3]d}}]}}}
`

const classText = `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: %[1]s}
spec: {selectors: [{cel: {expression: 'device.driver == "%[1]s"'}}]}
`

const clusterTemplateText = `
apiVersion: allot.dev/v1alpha1
kind: ClusterResourceClaimTemplate
metadata: {name: %[1]s}
spec:
  namespaceSelector: {matchLabels: {conformance: %[1]s}}
  spec: {devices: {requests: [{name: device, exactly: {deviceClassName: gpu.example.com, count: %[2]d}}]}}
`

// The names of the device classes, which are those of the drivers, and of the templates for one
// device of each.
const (
	gpus     = "gpu.example.com"
	channels = "fabric.example.com"
)

// groups returns the API version of PodGroups.
func (s Spelling) groups() string {
	switch s {
	case Named:
		return "scheduling.k8s.io/v1alpha2"
	case Matched:
		return "scheduling.k8s.io/v1beta1"
	}
	return "allot.dev/v1alpha1"
}

// shares returns the field by which a pod uses its group's claim.
func (s Spelling) shares(p pod) string {
	switch s {
	case Named:
		return "podGroupResourceClaim: shared"
	case Matched:
		return "resourceClaimTemplateName: " + p.Shares
	case Replaced:
		return "resourceClaimName: shared.podgroup.allot.dev"
	}
	return "resourceClaimName: " + p.Group + "-shared"
}

// render renders a manifest for the target.
func (t *Target) render(text string, data any) string {
	tmpl := template.Must(template.New("").Funcs(template.FuncMap{
		"groups":    t.Spelling.groups,
		"labels":    func() bool { return !t.Spelling.shared() },
		"scheduler": func() string { return t.Scheduler },
		"shares":    t.Spelling.shares,
	}).Parse(text))
	var out bytes.Buffer
	if err := tmpl.Execute(&out, data); err != nil {
		panic(err) // the texts are above
	}
	return strings.TrimSpace(out.String())
}
