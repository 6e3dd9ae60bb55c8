{{/* The name of every object: the release, unless it names the chart already. */}}
{{- define "foresail.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* The name of objects that no namespace holds: two releases of one name in two namespaces must not meet. */}}
{{- define "foresail.clusterName" -}}
{{ printf "%s-%s" .Release.Namespace (include "foresail.name" .) | trunc 63 | trimSuffix "-" }}
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
