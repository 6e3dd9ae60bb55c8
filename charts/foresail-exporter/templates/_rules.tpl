{{/* The exporter's rules with the thresholds of the values: in the alerts of this list, the number at the expression's end. */}}
{{- define "foresail.rules" -}}
{{- $thresholds := .Values.rules.thresholds }}
{{- $of := dict
  "ForesailGpuUnderused" $thresholds.gpuUtilizationLow
  "ForesailGpuSaturated" $thresholds.gpuUtilizationHigh
  "ForesailGpuMemoryHigh" $thresholds.gpuMemoryUsed
  "ForesailLatencyHigh" $thresholds.latencyP99Seconds
  "ForesailBatchEfficiencyLow" $thresholds.batchEfficiency }}
{{- $groups := (.Files.Get "files/exporter.yaml" | fromYaml).groups }}
{{- range $groups }}
{{- range .rules }}
{{- if and .alert (hasKey $of .alert) }}
{{- $_ := set . "expr" (regexReplaceAll "[0-9.]+$" .expr (get $of .alert | toString)) }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $groups }}
{{- end }}
