{{/* Names and labels, which are those of the Kubeflow Trainer's chart: selectors cannot be changed by an upgrade. */}}
{{- define "cotrain.name" -}}
{{- default "kubeflow-trainer" .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "cotrain.fullname" -}}
{{- $name := include "cotrain.name" . }}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "cotrain.manager" -}}{{ include "cotrain.fullname" . }}-controller-manager{{- end }}
{{- define "cotrain.config" -}}{{ include "cotrain.fullname" . }}-config{{- end }}
{{- define "cotrain.secret" -}}{{ include "cotrain.name" . }}-webhook-cert{{- end }}

{{- define "cotrain.instance" -}}
app.kubernetes.io/name: {{ include "cotrain.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "cotrain.identity" -}}
{{ include "cotrain.instance" (index . 1) }}
app.kubernetes.io/part-of: kubeflow
app.kubernetes.io/component: {{ index . 0 }}
{{- end }}

{{- define "cotrain.selector" -}}
{{- toYaml (merge (deepCopy (.Values.manager.selectorLabels | default dict)) (include "cotrain.identity" (list "manager" .) | fromYaml)) }}
{{- end }}

{{- define "cotrain.labels.own" -}}
{{ include "cotrain.identity" . }}
{{- with index . 1 }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- end }}

{{/* Labels of an object: list of component, root and, for some, more of them. Selectors and Helm go by ours, so these win. */}}
{{- define "cotrain.labels" -}}
{{- $more := rest (rest .) | first | default dict }}
{{- toYaml (merge (include "cotrain.labels.own" . | fromYaml) $more ((index . 1).Values.commonLabels | default dict)) }}
{{- end }}

{{/* An image: list of {registry, repository, tag}, the tag where that has none, and the registry where that has none. */}}
{{- define "cotrain.image" -}}
{{- $image := index . 0 }}{{ $tag := $image.tag | default (index . 1) }}
{{- $registry := $image.registry | default (rest (rest .) | first) | default "docker.io" }}
{{- $at := hasPrefix "sha256:" $tag | ternary "@" ":" }}
{{- if eq $registry "docker.io" }}{{ printf "%s%s%s" $image.repository $at $tag }}
{{- else }}{{ printf "%s/%s%s%s" $registry $image.repository $at $tag }}
{{- end }}
{{- end }}

{{/* The port of a bind address such as ":8443". */}}
{{- define "cotrain.port" -}}{{ splitList ":" . | last }}{{- end }}

{{- define "cotrain.lease.rules" }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create, get, update, watch]
{{- end }}
