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

{{/* Not empty where the kubelet is asked: never for GPUs that do not exist. */}}
{{- define "foresail.attributes" -}}
{{- if and .Values.attribution.enabled (not .Values.simulated) }}yes{{ end }}
{{- end }}

{{/* A probe of a path, as the port is guarded. */}}
{{- define "foresail.probe" -}}
{{- $web := (index . 0).Values.webConfig -}}
path: {{ index . 1 }}
port: http
{{- if and $web.secretName $web.tls }}
scheme: HTTPS
{{- end }}
{{- with $web.probeAuthorization }}
httpHeaders: [{name: Authorization, value: {{ . | quote }}}]
{{- end }}
{{- end }}

{{/* How Prometheus speaks to the port, as it is guarded. */}}
{{- define "foresail.endpoint" -}}
port: http
path: /metrics
interval: {{ .Values.serviceMonitor.interval }}
{{- if and .Values.webConfig.secretName .Values.webConfig.tls }}
scheme: https
{{- end }}
{{- with .Values.serviceMonitor.tlsConfig }}
tlsConfig: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.serviceMonitor.basicAuth }}
basicAuth: {{- toYaml . | nindent 2 }}
{{- end }}
# The series name the pods and targets that they are about in namespace, pod and name; without this
# Prometheus would rename those to exported_*.
honorLabels: true
{{- end }}
