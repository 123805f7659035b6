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
{{- /* The Secret that the operator keeps, or that somebody else keeps for it. */ -}}
{{- define "cotrain.certificate" -}}{{ .Values.manager.config.certManagement.webhookSecretName | default (include "cotrain.secret" .) }}{{- end }}

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

{{/* Where the file with the authorities of clients is mounted. */}}
{{- define "cotrain.clientCA.directory" -}}/etc/cotrain/client-ca{{- end }}

{{/* What the operator may do in namespaces: all of them by a ClusterRole, or some by a Role each. */}}
{{- define "cotrain.namespaced.rules" }}
# TrainJobs and runtimes are read, their status written, old finalizers taken off.
- apiGroups: [trainer.kubeflow.org]
  resources: [trainjobs, trainingruntimes]
  verbs: [get, list, watch]
- apiGroups: [trainer.kubeflow.org]
  resources: [trainingruntimes]
  verbs: [patch]
- apiGroups: [trainer.kubeflow.org]
  resources: [trainjobs/status]
  verbs: [patch]
# Owner references that block deletion ask for this.
- apiGroups: [trainer.kubeflow.org]
  resources: [trainjobs/finalizers]
  verbs: [update]
{{- if (.Values.manager.config.featureGates).TrainJobTTL }}
- apiGroups: [trainer.kubeflow.org]
  resources: [trainjobs]
  verbs: [delete]
{{- end }}
# Children: applied, watched, and deleted when a deadline passed or a job ended.
- apiGroups: [jobset.x-k8s.io]
  resources: [jobsets]
  verbs: [create, delete, get, list, patch, watch]
- apiGroups: [scheduling.x-k8s.io, scheduling.volcano.sh]
  resources: [podgroups]
  verbs: [create, delete, list, patch, watch]
{{- if (.Values.manager.config.featureGates).TrainJobWorkloadAwareScheduling }}
- apiGroups: [scheduling.k8s.io]
  resources: [workloads, podgroups]
  verbs: [create, delete, list, patch, watch]
{{- end }}
- apiGroups: [""]
  resources: [configmaps]
  verbs: [create, get, list, patch, watch]
{{- if .Values.rbac.secrets }}
# MPI and Flux jobs have one, which is made once and asked for by its name. The operator asks for metadata alone, but
# whoever has its token may read and change every Secret whose name he knows: no right is narrower.
- apiGroups: [""]
  resources: [secrets]
  verbs: [create, get, patch]
{{- end }}
# What changes the resources that Pods ask for.
- apiGroups: [""]
  resources: [limitranges]
  verbs: [list, watch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- if .Values.rbac.explain }}
# Why Pods do not come, and which failed: a page of them, of their Events or of Kueue, when a job asks for it.
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [list]
- apiGroups: [kueue.x-k8s.io]
  resources: [workloads]
  verbs: [list]
{{- end }}
{{- end }}

{{/* What belongs to no namespace and is read. */}}
{{- define "cotrain.cluster.reads" }}
- apiGroups: [trainer.kubeflow.org]
  resources: [clustertrainingruntimes]
  verbs: [get, list, watch]
- apiGroups: [node.k8s.io]
  resources: [runtimeclasses]
  verbs: [list, watch]
- apiGroups: [scheduling.k8s.io]
  resources: [priorityclasses]
  verbs: [list, watch]
{{- end }}

{{/* What belongs to no namespace and depends on the configuration. */}}
{{- define "cotrain.cluster.rules" }}
{{- $config := .Values.manager.config }}
{{- if not $config.namespaces }}
# Old finalizers are taken off these runtimes, too.
- apiGroups: [trainer.kubeflow.org]
  resources: [clustertrainingruntimes]
  verbs: [patch]
{{- end }}
{{- if and $config.certManagement.enable $config.webhook.enabled }}
# The certificate's authority is written into these two.
- apiGroups: [admissionregistration.k8s.io]
  resources: [mutatingwebhookconfigurations]
  resourceNames: [defaulter.trainer.kubeflow.org]
  verbs: [get, update, watch]
- apiGroups: [admissionregistration.k8s.io]
  resources: [validatingwebhookconfigurations]
  resourceNames: [validator.trainer.kubeflow.org]
  verbs: [get, update, watch]
{{- end }}
{{- if or $config.metrics.authentication ($config.metrics.auth).enabled }}
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}
{{- end }}

{{/* A role and its binding to the operator's account: list of root, kind, name, namespace or "", and the rules. */}}
{{- define "cotrain.role.bound" }}
{{- $root := index . 0 }}{{ $kind := index . 1 }}{{ $name := index . 2 }}{{ $namespace := index . 3 }}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ $name }}
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "cotrain.labels" (list "manager" $root) | nindent 4 }}
rules:
{{- index . 4 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ $name }}
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "cotrain.labels" (list "manager" $root) | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ $name }}
subjects:
- kind: ServiceAccount
  name: {{ include "cotrain.manager" $root }}
  namespace: {{ $root.Release.Namespace }}
{{- end }}

{{- define "cotrain.own.rules" }}
{{- $config := .Values.manager.config }}
{{- if $config.certManagement.enable }}
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [{{ include "cotrain.certificate" . }}]
  verbs: [get, update, watch]
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [{{ include "cotrain.certificate" . }}]
  verbs: [patch]
{{- end }}
{{- if eq (($config.leaderElection).resourceNamespace | default .Release.Namespace) .Release.Namespace }}
{{- include "cotrain.lease.rules" . }}
{{- end }}
{{- end }}

{{- define "cotrain.lease.rules" }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create, get, update, watch]
{{- end }}
