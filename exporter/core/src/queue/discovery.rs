//! Which servers a node's pods are: by annotation, by the name of the image, or by a known port of a
//! container with GPUs. A guess is marked as one, so that a wrong one makes no noise. Asks nobody.

use super::{
    Target,
    dialect::{self, Dialect},
    limit,
};
use crate::pod::{Container, Pod};

/// Annotation with the port of the metrics.
pub const PORT: &str = "foresail.dev/metrics-port";
/// Annotation with their path.
pub const PATH: &str = "foresail.dev/metrics-path";
/// Annotation with `http` or `https`.
pub const SCHEME: &str = "foresail.dev/metrics-scheme";
/// Annotation with the kind of server; `none` for a pod that shall not be asked.
pub const SERVER: &str = "foresail.dev/metrics-server";
/// Annotation with the requests that one engine runs at once.
pub const BATCH_LIMIT: &str = "foresail.dev/batch-limit";

/// A server of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where to ask.
    pub target: Target,
    /// Whether nobody said so: then it counts only once it has answered.
    pub guessed: bool,
}

/// What the pod says about where its metrics are.
#[derive(Clone, Copy)]
struct Said<'a> {
    port: Option<&'a str>,
    path: Option<&'a str>,
    scheme: Option<&'a str>,
}

/// The servers of `pod`, none while it does not run. An error is one line: which annotation, what it says,
/// what would be right.
pub fn servers(pod: &Pod) -> Result<Vec<Found>, String> {
    let Some(ip) = pod.ip.as_deref().filter(|_| pod.running) else {
        return Ok(Vec::new());
    };
    let said = |name: &str| pod.annotations.get(name).map(String::as_str);
    if said(SERVER) == Some("none") {
        return Ok(Vec::new());
    }
    let (wanted, base) = annotated(pod)?;
    let own = Said {
        port: said(PORT),
        path: said(PATH),
        scheme: said(SCHEME),
    };
    let by_image = by_image(pod);
    let server = wanted.or(by_image.map(|(server, _)| server));
    if said(SERVER).is_some() || own.port.is_some() || own.path.is_some() {
        let url = url(ip, own, server, [PORT, PATH, SCHEME])?;
        let container = by_image.map(|(_, container)| container);
        return Ok(vec![declared(base, pod, server, container, url)]);
    }
    let scraped = Said {
        port: said("prometheus.io/port"),
        path: said("prometheus.io/path"),
        scheme: said("prometheus.io/scheme"),
    };
    if let (Some("true"), Some((server, container))) = (said("prometheus.io/scrape"), by_image) {
        let names = [
            "prometheus.io/port",
            "prometheus.io/path",
            "prometheus.io/scheme",
        ];
        let url = url(ip, scraped, Some(server), names)?;
        return Ok(vec![declared(
            base,
            pod,
            Some(server),
            Some(container),
            url,
        )]);
    }
    Ok(guesses(&base, pod, ip))
}

/// The kind of server that annotations name, and a target without an address.
fn annotated(pod: &Pod) -> Result<(Option<&'static Dialect>, Target), String> {
    let said = |name: &str| pod.annotations.get(name).map(String::as_str);
    let server = match said(SERVER) {
        None | Some("auto") => None,
        Some(name) => Some(dialect::named(name).ok_or_else(|| {
            let known = dialect::names();
            format!("{SERVER} is {name:?}; write auto, none or one of {known}")
        })?),
    };
    let batch_limit = match said(BATCH_LIMIT) {
        None => None,
        Some(text) => Some(
            text.parse()
                .ok()
                .filter(|limit| *limit > 0)
                .ok_or_else(|| {
                    format!("{BATCH_LIMIT} is {text:?}, not a number of requests such as 256")
                })?,
        ),
    };
    let base = Target {
        namespace: Some(pod.namespace.clone()),
        pod: Some(pod.name.clone()),
        batch_limit,
        ..Target::default()
    };
    Ok((server, base))
}

fn declared(
    base: Target,
    pod: &Pod,
    server: Option<&'static Dialect>,
    container: Option<&Container>,
    url: String,
) -> Found {
    let only = || {
        Some(&pod.containers)
            .filter(|all| all.len() == 1)
            .map(|all| &all[0])
    };
    let container = container.or_else(only);
    let argument_limit = server.zip(container).and_then(|(s, c)| in_container(s, c));
    Found {
        target: Target {
            url,
            server,
            argument_limit,
            ..base
        },
        guessed: false,
    }
}

/// Servers that images and ports look like.
fn guesses(base: &Target, pod: &Pod, ip: &str) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for container in &pod.containers {
        let server = server_of(&container.image);
        let open = |port: u16| container.ports.contains(&port);
        let port = match server {
            // Images of servers need not declare their ports.
            Some(server) if open(server.port) || container.ports.is_empty() => server.port,
            _ if container.gpus => {
                let mut known = dialect::ALL.iter().map(|dialect| dialect.port);
                match known.find(|port| open(*port)) {
                    Some(port) => port,
                    None => continue,
                }
            }
            _ => continue,
        };
        let path = server.map_or("/metrics", |server| server.path);
        let url = address("http", ip, port, path);
        if found.iter().all(|other| other.target.url != url) {
            let target = Target {
                url,
                server,
                argument_limit: server.and_then(|server| in_container(server, container)),
                ..base.clone()
            };
            found.push(Found {
                target,
                guessed: true,
            });
        }
    }
    found
}

fn in_container(server: &Dialect, container: &Container) -> Option<u64> {
    let words = container.words.iter().map(String::as_str);
    let variables = container.variables.iter();
    limit::in_command(
        server,
        words,
        variables.map(|(n, v)| (n.as_str(), v.as_str())),
    )
}

fn by_image(pod: &Pod) -> Option<(&'static Dialect, &Container)> {
    (pod.containers.iter())
        .find_map(|container| server_of(&container.image).map(|server| (server, container)))
}

/// The server that an image is named after; of several words the longest says most.
fn server_of(image: &str) -> Option<&'static Dialect> {
    let words = dialect::ALL.iter().flat_map(|dialect| {
        let words = dialect.images.iter();
        words.map(move |word| (word, *dialect))
    });
    let named = words.filter(|(word, _)| image.contains(**word));
    named
        .max_by_key(|(word, _)| word.len())
        .map(|(_, dialect)| dialect)
}

fn url(
    ip: &str,
    said: Said<'_>,
    server: Option<&'static Dialect>,
    names: [&str; 3],
) -> Result<String, String> {
    let port = match (said.port, server) {
        (Some(text), _) => {
            let port = text.parse::<u16>().ok().filter(|port| *port > 0);
            port.ok_or_else(|| format!("{} is {text:?}, not a port from 1 to 65535", names[0]))?
        }
        (None, Some(server)) => server.port,
        (None, None) => {
            return Err(format!(
                "{} is missing: on which port are the metrics?",
                names[0]
            ));
        }
    };
    let path = said
        .path
        .or(server.map(|server| server.path))
        .unwrap_or("/metrics");
    if !path.starts_with('/') || path.contains(['#', ' ']) {
        return Err(format!(
            "{} is {path:?}, not a path such as /metrics",
            names[1]
        ));
    }
    let scheme = said.scheme.unwrap_or("http");
    if !matches!(scheme, "http" | "https") {
        return Err(format!("{} is {scheme:?}; write http or https", names[2]));
    }
    Ok(address(scheme, ip, port, path))
}

fn address(scheme: &str, ip: &str, port: u16, path: &str) -> String {
    if ip.contains(':') {
        format!("{scheme}://[{ip}]:{port}{path}")
    } else {
        format!("{scheme}://{ip}:{port}{path}")
    }
}

#[cfg(test)]
mod tests;
