{{/* The name of every object: the release, unless it names the chart already. */}}
{{- define "foresail.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* What selects the pods; never changes between versions. */}}
{{- define "foresail.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "foresail.labels" -}}
{{ include "foresail.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "foresail.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Not empty where the kubelet is asked: never for GPUs that do not exist. */}}
{{- define "foresail.attributes" -}}
{{- if and .Values.attribution.enabled (not .Values.simulated) }}yes{{ end }}
{{- end }}
