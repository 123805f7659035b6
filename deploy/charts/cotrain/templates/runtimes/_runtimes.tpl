{{/* The runtimes that are wanted, as one stream of YAML; empty if there are none. */}}
{{- define "cotrain.runtimes" -}}
{{- $r := .Values.runtimes }}{{ $tune := $r.torchtuneDistributed }}
{{- if and .Values.dataCache.runtimes.torchDistributedWithCache.enabled (not .Values.dataCache.enabled) }}
{{- fail "dataCache.runtimes.torchDistributedWithCache.enabled: needs dataCache.enabled: true" }}
{{- end }}
{{- $wanted := dict
  "torch-distributed" $r.torchDistributed.enabled
  "jax-distributed" $r.jaxDistributed.enabled
  "flux-distributed" $r.fluxDistributed.enabled
  "plain-distributed" $r.plainDistributed.enabled
  "deepspeed-distributed" $r.deepspeedDistributed.enabled
  "mlx-distributed" $r.mlxDistributed.enabled
  "xgboost-distributed" $r.xgboostDistributed.enabled
  "torchtune-llama3.2-1b" $tune.llama3_2_1B.enabled
  "torchtune-llama3.2-3b" $tune.llama3_2_3B.enabled
  "torchtune-qwen2.5-1.5b" $tune.qwen2_5_1_5B.enabled }}
{{- $images := dict
  "deepspeed-runtime" $r.deepspeedDistributed.image
  "mlx-runtime" $r.mlxDistributed.image
  "xgboost-runtime" $r.xgboostDistributed.image
  "torchtune-trainer" $tune.image
  "data-cache" .Values.dataCache.cacheImage
  "dataset-initializer" (dict "registry" "ghcr.io" "repository" "kubeflow/trainer/dataset-initializer")
  "model-initializer" (dict "registry" "ghcr.io" "repository" "kubeflow/trainer/model-initializer") }}
{{- $cached := .Values.dataCache.runtimes.torchDistributedWithCache.enabled }}
{{- range $path, $_ := .Files.Glob "files/runtimes/**-*.yaml" }}
{{- $name := base $path | trimSuffix ".yaml" }}
{{- if or (get $wanted $name) (and $r.defaultEnabled (hasKey $wanted $name)) (and $cached (eq $name "torch-distributed-with-cache")) }}
{{- $text := $.Files.Get $path }}
{{- range $stock, $image := $images }}
{{- $text = replace (printf "ghcr.io/kubeflow/trainer/%s:v2.3.0" $stock) (include "cotrain.image" (list $image $.Values.trainerVersion "ghcr.io")) $text }}
{{- end }}
{{- $runtime := fromYaml $text }}
{{- $labels := merge $runtime.metadata.labels ($r.commonLabels | default dict) (include "cotrain.labels" (list "runtime" $) | fromYaml) }}
{{- $_ := set $runtime.metadata "labels" $labels }}
{{- $_ := set $labels "trainer.kubeflow.org/managed-by" "runtimes-installer" }}
{{- $_ := set $labels "trainer.kubeflow.org/installer-revision" "pending" }}
---
{{ toYaml $runtime }}
{{- end }}
{{- end }}
{{- end }}

{{- define "cotrain.installer" -}}{{ include "cotrain.fullname" . }}-runtimes-installer{{- end }}

{{/* An image with kubectl in it. The Kubeflow Trainer's chart took alpine and fetched kubectl when it ran. */}}
{{- define "cotrain.kubectl" -}}
{{- $image := .Values.runtimes.installer.image }}
{{- if hasSuffix "alpine" $image.repository }}{{ $image = dict "registry" "registry.k8s.io" "repository" "kubectl" "tag" "" }}{{ end }}
{{- include "cotrain.image" (list $image "v1.36.3") }}
{{- end }}

{{/* The Pod of a job that runs kubectl, up to its containers: root. */}}
{{- define "cotrain.kubectl.pod" -}}
restartPolicy: OnFailure
serviceAccountName: {{ include "cotrain.installer" . }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.runtimes.installer }}
{{- with .imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{/* One step of it: list of name, arguments, root. */}}
{{- define "cotrain.kubectl.container" -}}
- name: {{ index . 0 }}
  {{- with index . 2 }}
  image: {{ include "cotrain.kubectl" . }}
  command: [kubectl]
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities: {drop: [ALL]}
  env: [{name: KUBECACHEDIR, value: /cache}]
  {{- with .Values.runtimes.installer.resources }}
  resources: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  args: {{ toJson (index . 1) }}
{{- end }}
