//! What the environment says of the node. Nothing else reads the environment but the command line.

/// The node's name: what Kubernetes says, else the kernel.
pub(super) fn hostname() -> String {
    let kernel = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = std::env::var("NODE_NAME")
        .ok()
        .filter(|name| !name.is_empty())
        .or_else(kernel);
    name.map_or_else(|| "unknown".into(), |name| name.trim().to_string())
}

/// Where a pod is told that the API server is.
pub(super) fn service() -> Option<(String, String)> {
    let host = std::env::var("KUBERNETES_SERVICE_HOST").ok()?;
    let port = std::env::var("KUBERNETES_SERVICE_PORT").unwrap_or_else(|_| "443".into());
    Some((host, port))
}
