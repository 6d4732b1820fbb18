{{- define "allot.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "allot.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "allot.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "allot.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "allot.serviceAccount" -}}
{{- default (include "allot.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "allot.image" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}

{{- define "allot.selector" -}}
app.kubernetes.io/name: {{ include "allot.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "allot.labels" -}}
{{ include "allot.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* The version of MutatingAdmissionPolicies to use; empty: none. */ -}}
{{- define "allot.policyVersion" -}}
{{- $group := "admissionregistration.k8s.io" -}}
{{- if or (eq .Values.policy.create "never") (eq .Values.podGroups "native") -}}
{{- else if .Values.policy.apiVersion -}}
{{- .Values.policy.apiVersion -}}
{{- else if .Capabilities.APIVersions.Has (printf "%s/v1/MutatingAdmissionPolicy" $group) -}}
{{- $group }}/v1
{{- else if .Capabilities.APIVersions.Has (printf "%s/v1beta1/MutatingAdmissionPolicy" $group) -}}
{{- $group }}/v1beta1
{{- else if eq .Values.policy.create "always" -}}
{{- $group }}/v1
{{- end -}}
{{- end -}}
