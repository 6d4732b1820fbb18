package cli

import (
	"fmt"
	"io"
	"path"
	"strings"
	"text/template"
	"time"
)

// Join has what a machine needs to join as a node.
type Join struct {
	// Server is the URL of the API server, and CA the certificate that verifies it.
	Server string
	CA     []byte
	// Token is a bootstrap token, valid until Expires. The zero time is never.
	Token   string
	Expires time.Time
	// Dir is the folder of the kubelet on the machine.
	Dir string
	// NodeName is the name of the node; empty means the name of the machine.
	NodeName string
	// Runtime is the endpoint of the container runtime.
	Runtime string
	// FeatureGates are the gates to switch on.
	FeatureGates []string
	// Warnings are printed first.
	Warnings []string
}

// KubeletDir is the folder of a kubelet that is not told another one.
const KubeletDir = "/var/lib/kubelet"

// joinScript writes what a kubelet needs, and runs it. The kubelet requests a certificate with the
// token, and needs the token no more when it has one.
var joinScript = template.Must(template.New("").Parse(
	`#!/bin/sh
# Joins this machine as a node of {{.Server}}. Run it as root.
{{range .Warnings}}# Warning: {{.}}
{{end}}# The token {{.Until}}.
set -e
umask 077
mkdir -p {{.Dir}}/pki
cat >{{.Dir}}/pki/ca.crt <<'EOF'
{{.Certificate}}
EOF
cat >{{.Dir}}/bootstrap-kubeconfig <<'EOF'
apiVersion: v1
kind: Config
clusters:
- name: allot
  cluster:
    server: {{.Server}}
    certificate-authority: {{.Dir}}/pki/ca.crt
users:
- name: bootstrap
  user:
    token: {{.Token}}
contexts:
- name: bootstrap
  context: {cluster: allot, user: bootstrap}
current-context: bootstrap
EOF
cat >{{.Dir}}/config.yaml <<'EOF'
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: {{.Dir}}/pki/ca.crt}
authorization: {mode: Webhook}
rotateCertificates: true
containerRuntimeEndpoint: {{.Runtime}}
featureGates:
{{range .FeatureGates}}  {{.}}: true
{{end}}EOF
exec kubelet \
  --bootstrap-kubeconfig={{.Dir}}/bootstrap-kubeconfig \
  --kubeconfig={{.Dir}}/kubeconfig \
  --config={{.Dir}}/config.yaml \
  --cert-dir={{.Dir}}/pki{{range .Flags}} \
  {{.}}{{end}} "$@"
`))

// Certificate returns the certificate without its last newline.
func (j Join) Certificate() string { return strings.TrimSpace(string(j.CA)) }

// Until describes how long the token is valid.
func (j Join) Until() string {
	if j.Expires.IsZero() {
		return "does not expire"
	}
	return "is valid until " + j.Expires.UTC().Format(time.RFC3339)
}

// Flags returns the flags of the kubelet that are not the same for all machines.
func (j Join) Flags() []string {
	var out []string
	if j.Dir != KubeletDir {
		out = append(out, "--root-dir="+j.Dir)
	}
	if j.NodeName != "" {
		out = append(out, "--hostname-override="+j.NodeName)
	}
	return out
}

// Check returns an error for a folder that a shell would not take as it is.
func (j Join) Check() error {
	if !path.IsAbs(j.Dir) || strings.ContainsAny(j.Dir, " \t\n'\"\\$`;&|<>(){}[]*?#~!") {
		return fmt.Errorf("%q must be an absolute path without special characters", j.Dir)
	}
	return nil
}

// WriteJoinScript writes the script that makes a machine a node.
func WriteJoinScript(w io.Writer, j Join) error { return joinScript.Execute(w, j) }
