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
app.kubernetes.io/name: {{ include "cotrain.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "cotrain.selector" -}}
{{ include "cotrain.instance" . }}
app.kubernetes.io/part-of: kubeflow
app.kubernetes.io/component: manager
{{- with .Values.manager.selectorLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Labels of an object: list of component and root. */}}
{{- define "cotrain.labels" -}}
{{- $component := index . 0 }}{{ with index . 1 -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "cotrain.instance" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: kubeflow
app.kubernetes.io/component: {{ $component }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}

{{/* An image: list of {registry, repository, tag} and the tag where that has none. */}}
{{- define "cotrain.image" -}}
{{- $image := index . 0 }}{{ $tag := $image.tag | default (index . 1) }}
{{- if eq ($image.registry | default "docker.io") "docker.io" }}{{ printf "%s:%s" $image.repository $tag }}
{{- else }}{{ printf "%s/%s:%s" $image.registry $image.repository $tag }}
{{- end }}
{{- end }}

{{/* The port of a bind address such as ":8443". */}}
{{- define "cotrain.port" -}}{{ splitList ":" . | last }}{{- end }}

{{- define "cotrain.lease.rules" }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create, get, update]
{{- end }}
