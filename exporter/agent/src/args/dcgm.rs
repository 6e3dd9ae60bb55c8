//! Flags and environment variables of dcgm-exporter, under its names, so that its manifests need no other change than
//! the image.

use std::{path::PathBuf, str::FromStr, time::Duration};

use exporter_core::contract::Devices;

/// A yes or no, as Go reads it; a flag without a value is a yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Switch(pub(crate) bool);

impl FromStr for Switch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Self(true)),
            "" | "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Self(false)),
            _ => Err("write true or false".into()),
        }
    }
}

/// Flags of dcgm-exporter.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "As in dcgm-exporter")]
pub(crate) struct Flags {
    /// Counters file: the DCGM fields to serve, instead of the default set
    #[arg(
        short = 'f',
        long,
        value_name = "FILE",
        env = "DCGM_EXPORTER_COLLECTORS"
    )]
    pub(crate) collectors: Option<PathBuf>,

    /// `ConfigMap` whose key `metrics` is the counters file, such as monitoring:exporter-metrics; read at the start and on
    /// SIGHUP. While it cannot be read, the counters file counts
    #[arg(short = 'm', long, value_name = "NAMESPACE:NAME", value_parser = config_map,
        env = "DCGM_EXPORTER_CONFIGMAP_DATA")]
    pub(crate) configmap_data: Option<ConfigMap>,

    /// Time between two gathers in milliseconds [default: 30000]
    #[arg(short = 'c', long, value_name = "MS", value_parser = interval, env = "DCGM_EXPORTER_INTERVAL")]
    pub(crate) collect_interval: Option<Duration>,

    /// Version 1's label names: `uuid`, `pod_name`, `pod_namespace`, `container_name`
    #[arg(short = 'o', long, num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_name = "BOOL", env = "DCGM_EXPORTER_USE_OLD_NAMESPACE")]
    pub(crate) use_old_namespace: Option<Switch>,

    /// Leave the node's name out
    #[arg(short = 'n', long, num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_name = "BOOL", env = "DCGM_EXPORTER_NO_HOSTNAME")]
    pub(crate) no_hostname: Option<Switch>,

    /// Write a dash for every blank in modelName
    #[arg(long, alias = "rbmn", num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_name = "BOOL", env = "DCGM_EXPORTER_REPLACE_BLANKS_IN_MODEL_NAME")]
    pub(crate) replace_blanks_in_model_name: Option<Switch>,

    /// GPUs and MIG instances to serve: f (all), g, g:0,2-3, i or g+i
    #[arg(
        short = 'd',
        long,
        value_name = "DEVICES",
        env = "DCGM_EXPORTER_DEVICES_STR"
    )]
    pub(crate) devices: Option<Devices>,

    /// File that says who may read: TLS and passwords, in the form of Prometheus' exporter-toolkit
    #[arg(
        long,
        value_name = "FILE",
        value_parser = file,
        env = "DCGM_EXPORTER_WEB_CONFIG_FILE"
    )]
    pub(crate) web_config_file: Option<PathBuf>,

    /// Window of `DCGM_EXP_XID_ERRORS_COUNT` in milliseconds [default: 300000]
    #[arg(short = 'x', long, value_name = "MS", value_parser = window,
        env = "DCGM_EXPORTER_XID_COUNT_WINDOW_SIZE")]
    pub(crate) xid_count_window_size: Option<Duration>,

    /// Window of `DCGM_EXP_CLOCK_EVENTS_COUNT` in milliseconds [default: 300000]
    #[arg(long, value_name = "MS", value_parser = window,
        env = "DCGM_EXPORTER_CLOCK_EVENTS_COUNT_WINDOW_SIZE")]
    pub(crate) clock_events_count_window_size: Option<Duration>,

    /// Ask the kubelet which pods hold which GPUs
    #[arg(short = 'k', long, num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_name = "BOOL", env = "DCGM_EXPORTER_KUBERNETES")]
    pub(crate) kubernetes: Option<Switch>,

    /// The kubelet's socket [default: /var/lib/kubelet/pod-resources/kubelet.sock]
    #[arg(long, value_name = "FILE", env = "DCGM_POD_RESOURCES_KUBELET_SOCKET")]
    pub(crate) pod_resources_kubelet_socket: Option<PathBuf>,

    /// Resources that are GPUs too, such as nvidia.com/a100
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        env = "NVIDIA_RESOURCE_NAMES"
    )]
    pub(crate) nvidia_resource_names: Vec<String>,

    /// Log more
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_name = "BOOL", env = "DCGM_EXPORTER_DEBUG")]
    pub(crate) debug: Option<Switch>,

    /// Form of the log
    #[arg(
        long,
        value_name = "FORM",
        value_enum,
        env = "DCGM_EXPORTER_LOG_FORMAT"
    )]
    pub(crate) log_format: Option<LogFormat>,
}

/// A `ConfigMap`, or "none", which manifests of dcgm-exporter may say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigMap(pub(crate) Option<(String, String)>);

/// `NAMESPACE:NAME`; both are names of Kubernetes, which need no escape in a path.
fn config_map(text: &str) -> Result<ConfigMap, String> {
    let text = text.trim();
    if matches!(text, "" | "none") {
        return Ok(ConfigMap(None));
    }
    let name = |part: &str| {
        let sound = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        !part.is_empty() && part.len() <= 253 && !part.starts_with('.') && part.chars().all(sound)
    };
    match text.split_once(':') {
        Some((namespace, one)) if name(namespace) && name(one) => {
            Ok(ConfigMap(Some((namespace.into(), one.into()))))
        }
        _ => Err("write NAMESPACE:NAME, such as monitoring:exporter-metrics".into()),
    }
}

/// How lines of the log look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For machines.
    Json,
}

/// A name of a file.
fn file(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() {
        return Err("name a file; a port that is to be guarded is not served open".into());
    }
    Ok(text.into())
}

/// 1 s to a day.
fn window(text: &str) -> Result<Duration, String> {
    let milliseconds = text.trim().parse().ok();
    let sound = milliseconds.filter(|ms| (1000..=86_400_000).contains(ms));
    sound
        .map(Duration::from_millis)
        .ok_or_else(|| "write milliseconds from 1000 to 86400000, such as 300000".into())
}

/// 1 s to 5 min.
fn interval(text: &str) -> Result<Duration, String> {
    let milliseconds = text.trim().parse().ok();
    let sound = milliseconds.filter(|ms| (1000..=300_000).contains(ms));
    sound
        .map(Duration::from_millis)
        .ok_or_else(|| "write milliseconds from 1000 to 300000, such as 30000".into())
}
