//! Where the exporter asks about the pods of its node: the kubelet's socket and the API server. Opens neither.

use std::path::PathBuf;

use serde::Deserialize;

use crate::args::dcgm::{Flags, Switch};

/// Folder in which a pod finds its account.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// What is asked about pods; nothing outside a cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kubernetes {
    /// The node, as the API server names it.
    pub(crate) node: String,
    /// The kubelet's socket, for who holds which device.
    pub(crate) pod_resources: Option<PathBuf>,
    /// Resources that count as GPUs besides `nvidia.com/…`.
    pub(crate) resources: Vec<String>,
    /// The API server, where anybody asks it.
    pub(crate) api: Option<Api>,
    /// Whether it is asked for the pods of the node.
    pub(crate) discovery: bool,
    /// Whether it is asked for the batch work of the cluster, and nothing else is asked.
    pub(crate) cluster: bool,
    /// Where the host's `/proc` is.
    pub(crate) proc_root: PathBuf,
}

/// An API server and how to speak to it.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    /// Its address.
    pub(crate) url: String,
    /// File with the token, read anew for every request; it changes.
    pub(crate) token: Option<PathBuf>,
    /// File with the certificates that sign its own.
    pub(crate) authority: Option<PathBuf>,
}

/// Where a kubelet serves who holds which device.
const SOCKET: &str = "/var/lib/kubelet/pod-resources/kubelet.sock";

impl Kubernetes {
    /// Lays dcgm-exporter's flags over the file.
    pub(super) fn overlay(&mut self, flags: &Flags) {
        let socket = flags.pod_resources_kubelet_socket.as_ref();
        match (flags.kubernetes, &mut self.pod_resources) {
            (Some(Switch(false)), _) => self.pod_resources = None,
            (Some(Switch(true)), None) => {
                self.pod_resources = Some(socket.map_or_else(|| SOCKET.into(), Clone::clone));
            }
            (_, Some(path)) => {
                if let Some(socket) = socket {
                    path.clone_from(socket);
                }
            }
            // As in dcgm-exporter, a socket alone asks nobody.
            (None, None) => {}
        }
        let also = flags.nvidia_resource_names.iter();
        self.resources
            .extend(also.filter(|name| !name.is_empty()).cloned());
    }
}

/// The section of the file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(super) struct Section {
    node_name: Option<String>,
    pod_resources_socket: Option<PathBuf>,
    resource_names: Vec<String>,
    discovery: bool,
    api_server: Option<String>,
    token_file: Option<PathBuf>,
    ca_file: Option<PathBuf>,
    proc_root: Option<PathBuf>,
}

/// What belongs at each key, for messages.
pub(super) const RIGHTS: &super::yaml::Rights = &[
    (
        "kubernetes",
        "a map such as {discovery: true, podResourcesSocket: /var/lib/kubelet/pod-resources/kubelet.sock}",
    ),
    ("nodeName", "the node's name such as node-1"),
    (
        "podResourcesSocket",
        "a socket such as /var/lib/kubelet/pod-resources/kubelet.sock",
    ),
    ("resourceNames", "a list such as [example.com/gpu]"),
    ("resourceNames[]", "a resource such as example.com/gpu"),
    ("discovery", "true or false"),
    ("apiServer", "a URL such as https://10.96.0.1"),
    ("tokenFile", "a file with a token"),
    ("caFile", "a file with certificates"),
    ("procRoot", "a folder such as /host/proc"),
];

/// What flags ask of the API server.
#[derive(Clone, Copy, Default)]
pub(super) struct Wanted {
    /// The role that asks for batch work and nothing else.
    pub(super) cluster: bool,
    /// Whether a `ConfigMap` holds the counters; without an API server the counters file counts.
    pub(super) config_map: bool,
}

/// Checks a section. `service` is the API server's host and port as a pod is told them. An error is a key and one line.
pub(super) fn read(
    section: Section,
    node: &str,
    service: Option<(String, String)>,
    wanted: Wanted,
) -> Result<Kubernetes, (&'static str, String)> {
    let Wanted {
        cluster,
        config_map,
    } = wanted;
    let known = service.is_some() || section.api_server.is_some();
    let api = if section.discovery || cluster || (config_map && known) {
        Some(api(&section, service)?)
    } else {
        None
    };
    Ok(Kubernetes {
        node: section.node_name.unwrap_or_else(|| node.into()),
        pod_resources: section.pod_resources_socket.filter(|_| !cluster),
        resources: section.resource_names,
        api,
        discovery: section.discovery && !cluster,
        cluster,
        proc_root: section.proc_root.unwrap_or_else(|| "/proc".into()),
    })
}

fn api(
    section: &Section,
    service: Option<(String, String)>,
) -> Result<Api, (&'static str, String)> {
    if let Some(url) = &section.api_server {
        let sound = reqwest::Url::parse(url).is_ok_and(|url| {
            matches!(url.scheme(), "http" | "https") && url.has_host() && url.username().is_empty()
        });
        if !sound {
            let message = format!("{url:?} is not a URL such as https://10.96.0.1");
            return Err(("apiServer", message));
        }
        return Ok(Api {
            url: url.trim_end_matches('/').into(),
            token: section.token_file.clone(),
            authority: section.ca_file.clone(),
        });
    }
    let Some((host, port)) = service else {
        let message = "no API server is known: KUBERNETES_SERVICE_HOST is not set; run in a pod or write apiServer";
        return Err(("apiServer", message.into()));
    };
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host
    };
    let account = |given: &Option<PathBuf>, name: &str| {
        let default = || PathBuf::from(ACCOUNT).join(name);
        Some(given.clone().unwrap_or_else(default))
    };
    Ok(Api {
        url: format!("https://{host}:{port}"),
        token: account(&section.token_file, "token"),
        authority: account(&section.ca_file, "ca.crt"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discovering() -> Section {
        Section {
            discovery: true,
            ..Section::default()
        }
    }

    #[test]
    fn a_pod_is_told_where_the_api_server_is() {
        let service = |host: &str| Some((host.to_string(), "443".to_string()));
        let read = |host| {
            read(discovering(), "n", service(host), Wanted::default())
                .unwrap()
                .api
                .unwrap()
        };
        assert_eq!(read("10.96.0.1").url, "https://10.96.0.1:443");
        assert_eq!(read("fd00::1").url, "https://[fd00::1]:443");
        let token = read("10.96.0.1").token.unwrap();
        assert!(token.ends_with("serviceaccount/token"));
        let unknown = super::read(discovering(), "n", None, Wanted::default()).unwrap_err();
        assert_eq!(unknown.0, "apiServer");
        let role = Wanted {
            cluster: true,
            ..Wanted::default()
        };
        let cluster = super::read(Section::default(), "n", service("10.96.0.1"), role).unwrap();
        assert!(cluster.api.is_some() && cluster.cluster && !cluster.discovery);
    }

    #[test]
    fn flags_of_dcgm_exporter_win_over_the_file() {
        let socket = |file: Option<&str>, switch: Option<bool>, flag: Option<&str>| {
            let mut kubernetes = Kubernetes {
                pod_resources: file.map(Into::into),
                ..Kubernetes::default()
            };
            kubernetes.overlay(&Flags {
                kubernetes: switch.map(Switch),
                pod_resources_kubelet_socket: flag.map(Into::into),
                nvidia_resource_names: vec!["example.com/gpu".into()],
                ..Flags::default()
            });
            assert_eq!(kubernetes.resources, ["example.com/gpu"]);
            let found = kubernetes.pod_resources;
            found.map(|path| path.display().to_string())
        };
        assert_eq!(socket(None, Some(true), None).as_deref(), Some(SOCKET));
        assert_eq!(socket(None, Some(true), Some("/b")).as_deref(), Some("/b"));
        assert_eq!(socket(Some("/a"), None, Some("/b")).as_deref(), Some("/b"));
        assert_eq!(socket(Some("/a"), Some(true), None).as_deref(), Some("/a"));
        assert_eq!(socket(Some("/a"), Some(false), Some("/b")), None);
        assert_eq!(socket(None, None, Some("/b")), None);
    }

    #[test]
    fn nothing_is_asked_unless_told_so() {
        let found = read(Section::default(), "n", None, Wanted::default()).unwrap();
        assert!(found.api.is_none() && found.pod_resources.is_none());
        assert_eq!(found.node, "n");
        let map = Wanted {
            config_map: true,
            ..Wanted::default()
        };
        let outside = read(Section::default(), "n", None, map).unwrap();
        assert!(outside.api.is_none(), "the counters file counts there");
    }
}
