//! The configuration file, checked once. An unknown key is an error: a misspelt one would otherwise be
//! silently ignored.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use exporter_core::{
    contract::{Contract, Version},
    queue::{Target, dialect},
    simulated::fleet::Spec,
};
use serde::Deserialize;

use crate::args::{self, Args};

use kubernetes::Kubernetes;
pub(crate) use url::{SecretUrl, read as read_url};

pub(crate) mod contract;

pub(crate) mod file;

pub(crate) mod kubernetes;

mod url;

pub(crate) mod yaml;

/// Seconds between two gathers, dcgm-exporter's default.
const INTERVAL: f64 = 30.0;

/// What the exporter was told, complete.
#[derive(Debug)]
pub(crate) struct Config {
    /// Where to serve.
    pub(crate) address: SocketAddr,
    /// File that says who may read; without one everybody may.
    pub(crate) web: Option<PathBuf>,
    /// Time between two gathers.
    pub(crate) interval: Duration,
    /// Name of the node.
    pub(crate) hostname: String,
    /// Simulated GPUs instead of the node's.
    pub(crate) simulated: Option<Spec>,
    /// File of the driver library, or the folder that holds the driver; without it the usual places are searched.
    pub(crate) nvml_library: Option<PathBuf>,
    /// Time after which a driver call is taken for one that hangs.
    pub(crate) nvml_deadline: Duration,
    /// Seed of the simulation.
    pub(crate) seed: u64,
    /// What is served under which names.
    pub(crate) contract: Arc<Contract>,
    /// Namespace and name of a `ConfigMap` that holds the counters instead.
    pub(crate) counters_map: Option<(String, String)>,
    /// Inference servers to ask.
    pub(crate) servers: Vec<Server>,
    /// A dcgm-exporter that lends what the driver library does not measure.
    pub(crate) lender: Option<Other>,
    /// Whom to ask about pods.
    pub(crate) kubernetes: Kubernetes,
}

/// One inference server.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// Where to ask, secrets and all.
    pub(crate) url: SecretUrl,
    /// Where without secrets, and what is known.
    pub(crate) target: Target,
    /// Time after which an answer is given up.
    pub(crate) deadline: Duration,
}

/// A running dcgm-exporter, to compare with or to borrow from.
#[derive(Clone, Debug)]
pub(crate) struct Other {
    /// Where to ask, secrets and all.
    pub(crate) url: SecretUrl,
    /// The same for people.
    pub(crate) shown: String,
}

/// Why a file is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// Not a file to read.
    #[error("{path}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        source: file::FileError,
    },
    /// Not YAML, a wrong type or an unknown key.
    #[error("{path}: {message}")]
    Form {
        /// The file.
        path: String,
        /// What and where, in one line.
        message: String,
    },
    /// A counters file that cannot be used.
    #[error("{path}")]
    Contract {
        /// The file.
        path: String,
        /// Why.
        source: contract::ContractError,
    },
    /// A value that cannot be.
    #[error("{path}: {key}: {message}")]
    Value {
        /// The file.
        path: String,
        /// Its key.
        key: String,
        /// What is wrong and what would be right.
        message: String,
    },
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
struct File {
    address: Option<String>,
    web_config: Option<PathBuf>,
    interval_seconds: Option<f64>,
    collectors: Option<PathBuf>,
    dialect: Option<String>,
    max_series: Option<usize>,
    hostname: Option<String>,
    simulated: Option<String>,
    nvml_library: Option<PathBuf>,
    nvml_deadline_seconds: Option<f64>,
    seed: Option<u64>,
    dcgm_exporter_url: Option<String>,
    servers: Vec<FileServer>,
    kubernetes: kubernetes::Section,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct FileServer {
    kind: String,
    url: String,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    pod: Option<String>,
    #[serde(default)]
    batch_limit: Option<u64>,
    #[serde(default)]
    deadline_seconds: Option<f64>,
}

/// What belongs at each key, for messages.
const RIGHTS: &yaml::Rights = &[
    ("", "keys and values such as address: 0.0.0.0:9400"),
    ("address", "an address and port such as 0.0.0.0:9400"),
    (
        "webConfig",
        "a file such as /etc/foresail-web/web-config.yaml",
    ),
    ("intervalSeconds", "a number of seconds such as 30"),
    (
        "collectors",
        "a counters file such as /etc/dcgm-exporter/custom.csv",
    ),
    ("dialect", "a version in quotes such as \"4.8.2\""),
    ("maxSeries", "a whole number such as 10000"),
    ("hostname", "the node's name such as node-1"),
    ("simulated", "GPUs such as 8xH100-SXM5-80GB,2xL40S"),
    ("nvmlLibrary", "a file such as /usr/lib/libnvidia-ml.so.1"),
    (
        "dcgmExporterUrl",
        "a URL such as http://127.0.0.1:9401/metrics",
    ),
    ("seed", "a whole number such as 7"),
    (
        "servers",
        "a list such as [{kind: vllm, url: \"http://10.0.0.5:8000/metrics\"}]",
    ),
    (
        "servers[]",
        "a map such as {kind: vllm, url: \"http://10.0.0.5:8000/metrics\"}",
    ),
    ("kind", "a kind of server such as vllm"),
    ("url", "a URL such as http://10.0.0.5:8000/metrics"),
    ("namespace", "a namespace such as serving"),
    ("pod", "a pod's name such as chat-0"),
    ("batchLimit", "a whole number such as 256"),
    ("deadlineSeconds", "a number of seconds such as 3"),
];

/// Reads the file that `args` names and lays the flags over it. `hostname` is the node's own, `service` the
/// API server's host and port as a pod is told them.
pub(crate) fn load(
    args: &Args,
    hostname: String,
    service: Option<(String, String)>,
) -> Result<Config, ConfigError> {
    let (path, text) = match &args.config {
        None => (String::new(), String::new()),
        Some(path) => {
            let name = path.display().to_string();
            match file::read(path) {
                Ok(text) => (name, text),
                Err(source) => return Err(ConfigError::Unreadable { path: name, source }),
            }
        }
    };
    let mut config = parse(args, &path, &text, hostname, service)?;
    if let Some(address) = args.address {
        config.address = address;
    }
    if args.dcgm_exporter_url.is_some() {
        config.lender.clone_from(&args.dcgm_exporter_url);
    }
    if args.dcgm.web_config_file.is_some() {
        config.web.clone_from(&args.dcgm.web_config_file);
    }
    config.kubernetes.overlay(&args.dcgm);
    config.counters_map = args.dcgm.configmap_data.clone().and_then(|map| map.0);
    if let Some(interval) = args.dcgm.collect_interval {
        config.interval = interval;
    }
    if args.simulated.is_some() {
        config.simulated.clone_from(&args.simulated);
    }
    if args.nvml_library.is_some() {
        config.nvml_library.clone_from(&args.nvml_library);
    }
    if args.cluster {
        config.servers.clear();
        config.simulated = None;
        config.nvml_library = None;
        config.lender = None;
    }
    Ok(config)
}

fn parse(
    args: &Args,
    path: &str,
    text: &str,
    hostname: String,
    service: Option<(String, String)>,
) -> Result<Config, ConfigError> {
    let file: File = if text.trim().is_empty() {
        File::default()
    } else {
        yaml::parse(text, &[RIGHTS, kubernetes::RIGHTS].concat()).map_err(|message| {
            ConfigError::Form {
                path: path.into(),
                message,
            }
        })?
    };
    let wrong = |key: &str, message: String| ConfigError::Value {
        path: path.into(),
        key: key.into(),
        message,
    };
    let address = file.address.unwrap_or_else(|| "0.0.0.0:9400".into());
    let address = args::address(&address)
        .map_err(|message| wrong("address", format!("{address:?} is {message}")))?;
    let interval = seconds(file.interval_seconds.unwrap_or(INTERVAL), 1.0, 300.0)
        .map_err(|message| wrong("intervalSeconds", message))?;
    let nvml_deadline = seconds(file.nvml_deadline_seconds.unwrap_or(10.0), 0.1, 60.0)
        .map_err(|message| wrong("nvmlDeadlineSeconds", message))?;
    let version = file.dialect.as_deref().map(args::version).transpose();
    let version = version.map_err(|message| wrong("dialect", message))?;
    let contract = contract(args, version, file.collectors.as_deref(), file.max_series)?;
    let simulated = file.simulated.map(|spec| spec.parse::<Spec>()).transpose();
    let simulated = simulated.map_err(|error| wrong("simulated", error.to_string()))?;
    let servers = servers(file.servers)
        .map_err(|(place, message)| wrong(&format!("servers[{place}"), message))?;
    let lender = file
        .dcgm_exporter_url
        .as_deref()
        .map(args::other)
        .transpose();
    let lender = lender.map_err(|message| wrong("dcgmExporterUrl", message))?;
    let wanted = kubernetes::Wanted {
        cluster: args.cluster,
        config_map: (args.dcgm.configmap_data.as_ref()).is_some_and(|map| map.0.is_some()),
    };
    let kubernetes = kubernetes::read(file.kubernetes, &hostname, service, wanted)
        .map_err(|(key, message)| wrong(&format!("kubernetes.{key}"), message))?;
    Ok(Config {
        address,
        web: file.web_config,
        interval,
        hostname: file.hostname.unwrap_or(hostname),
        contract,
        counters_map: None,
        simulated,
        nvml_library: file.nvml_library,
        nvml_deadline,
        seed: file.seed.unwrap_or(0),
        servers,
        lender,
        kubernetes,
    })
}

fn contract(
    args: &Args,
    version: Option<Version>,
    counters: Option<&Path>,
    budget: Option<usize>,
) -> Result<Arc<Contract>, ConfigError> {
    let version = args.dialect.or(version).unwrap_or_default();
    let counters = args.dcgm.collectors.as_deref().or(counters);
    contract::load(args, version, counters, budget).map_err(|source| ConfigError::Contract {
        // Only a file can be wrong.
        path: counters.map_or_else(String::new, |path| path.display().to_string()),
        source,
    })
}

/// Checks all servers. An error is its index and key, as they follow `servers[`, and one line.
fn servers(all: Vec<FileServer>) -> Result<Vec<Server>, (String, String)> {
    let mut servers = Vec::new();
    for (index, file) in all.into_iter().enumerate() {
        let server = server(file);
        let wrong = |(key, message)| (format!("{index}].{key}"), message);
        servers.push(server.map_err(wrong)?);
    }
    if let Some((index, server)) = repeated(&servers) {
        let message = format!(
            "{} stands there already; ask each server once",
            server.target.url
        );
        return Err((format!("{index}].url"), message));
    }
    Ok(servers)
}

fn repeated(servers: &[Server]) -> Option<(usize, &Server)> {
    servers.iter().enumerate().find(|(index, server)| {
        let mut before = servers[..*index].iter();
        before.any(|other| other.target.url == server.target.url)
    })
}

fn server(file: FileServer) -> Result<Server, (&'static str, String)> {
    let known = dialect::named(&file.kind);
    if known.is_none() && file.kind != "auto" {
        let message = format!(
            "{:?} is not a kind of server that is known; write auto or one of {}",
            file.kind,
            dialect::names()
        );
        return Err(("kind", message));
    }
    let (url, shown) = url::read(&file.url).map_err(|shown| {
        let message = format!("{shown:?} is not a URL such as http://10.0.0.5:8000/metrics");
        ("url", message)
    })?;
    if file.batch_limit == Some(0) {
        let message = "0 sequences can never run; write the server's --max-num-seqs, such as 256";
        return Err(("batchLimit", message.into()));
    }
    let deadline = seconds(file.deadline_seconds.unwrap_or(3.0), 0.1, 60.0)
        .map_err(|message| ("deadlineSeconds", message))?;
    Ok(Server {
        url,
        target: Target {
            url: shown,
            server: known,
            namespace: file.namespace,
            pod: file.pod,
            batch_limit: file.batch_limit,
            argument_limit: None,
        },
        deadline,
    })
}

fn seconds(value: f64, least: f64, most: f64) -> Result<Duration, String> {
    if (least..=most).contains(&value) {
        Ok(Duration::from_secs_f64(value))
    } else {
        Err(format!("{value} is not between {least} and {most} seconds"))
    }
}
