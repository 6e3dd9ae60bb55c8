//! etcd, the API server, the controller manager and the scheduler, as in production save for the
//! kubelet. One admin token; certificates that the API server makes itself.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, ensure};
use kube::Client;
use tempfile::TempDir;

use crate::{free_port, peer, service::Service};

const TOKEN: &str = "foresail-tests";

/// A control plane that ends with the value.
pub struct ControlPlane {
    // In this order they are ended: who asks before who answers.
    scheduler: Option<Service>,
    manager: Option<Service>,
    api: Service,
    etcd: Service,
    /// A client with every right.
    pub client: Client,
    folder: TempDir,
    binaries: PathBuf,
}

impl ControlPlane {
    /// The API server on etcd alone: enough for schemas and dry runs.
    pub async fn api_server() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let etcd_port = free_port()?;
        let etcd = start_etcd(folder.path(), etcd_port)?;
        let binaries = peer("kubernetes")?;
        let port = free_port()?;
        let mut api = start_api(folder.path(), &binaries, etcd_port, port)?;
        write_kubeconfig(folder.path(), port)?;
        // The first provider wins.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .tls_danger_accept_invalid_certs(true)
            .build()?;
        let url = format!("https://127.0.0.1:{port}/readyz");
        api.wait(Duration::from_mins(1), || async {
            let request = http
                .get(&url)
                .bearer_auth(TOKEN)
                .timeout(Duration::from_secs(2))
                .send();
            request
                .await
                .is_ok_and(|response| response.status().is_success())
        })
        .await?;
        let config = kube::config::Kubeconfig::read_from(folder.path().join("kubeconfig"))?;
        let config = kube::Config::from_custom_kubeconfig(
            config,
            &kube::config::KubeConfigOptions::default(),
        )
        .await?;
        let client = Client::try_from(config)?;
        Ok(Self {
            scheduler: None,
            manager: None,
            api,
            etcd,
            client,
            folder,
            binaries,
        })
    }

    /// The whole: deployments make pods, pods are scheduled, HPAs act every second.
    pub async fn whole() -> anyhow::Result<Self> {
        let mut plane = Self::api_server().await?;
        let kubeconfig = format!("--kubeconfig={}", plane.kubeconfig().display());
        let start = |name: &str, extra: &[&str]| {
            let mut command = Command::new(plane.binaries.join(name));
            command
                .args([&kubeconfig, "--leader-elect=false", "--secure-port=0"])
                .args(extra);
            Service::start(
                name,
                &mut command,
                plane.folder.path().join(format!("{name}.log")),
            )
        };
        let key = format!(
            "--service-account-private-key-file={}",
            plane.folder.path().join("sa.key").display()
        );
        let running_manager = start(
            "kube-controller-manager",
            &[
                &key,
                "--horizontal-pod-autoscaler-sync-period=1s",
                "--kube-api-qps=200",
                "--kube-api-burst=400",
            ],
        )?;
        let running_scheduler = start(
            "kube-scheduler",
            &["--kube-api-qps=200", "--kube-api-burst=400"],
        )?;
        plane.manager = Some(running_manager);
        plane.scheduler = Some(running_scheduler);
        Ok(plane)
    }

    /// The kubeconfig of the administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// Runs kubectl; its standard output, or an error with what it said.
    pub fn kubectl(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = Command::new(self.binaries.join("kubectl"))
            .arg(format!("--kubeconfig={}", self.kubeconfig().display()))
            .args(arguments)
            .output()
            .context("kubectl")?;
        ensure!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    /// A part of the status of a scaler in the namespace `default`, by its path as kubectl takes it.
    pub fn status(&self, scaler: &str, path: &str) -> anyhow::Result<String> {
        let path = format!("jsonpath={{.status.{path}}}");
        self.kubectl(&["get", "isc", scaler, "-o", &path])
    }

    /// Applies a text of objects.
    pub fn apply(&self, yaml: &str) -> anyhow::Result<String> {
        let file = tempfile::NamedTempFile::new()?;
        fs::write(file.path(), yaml)?;
        self.kubectl(&[
            "apply",
            "--server-side",
            "-f",
            &file.path().display().to_string(),
        ])
    }

    /// Applies Foresail's own definitions and waits until they are served.
    pub async fn install_definitions(&self) -> anyhow::Result<()> {
        let folder = crate::root().join("charts/foresail-autoscaler/crds");
        self.kubectl(&[
            "apply",
            "--server-side",
            "-f",
            &folder.display().to_string(),
        ])?;
        let arguments = [
            "wait",
            "--for=condition=Established",
            "--timeout=30s",
            "crd/inferencescalers.foresail.dev",
        ];
        self.kubectl(&arguments)?;
        crate::service::until(
            "InferenceScaler is served",
            Duration::from_secs(30),
            || async { Ok(self.kubectl(&["get", "inferencescalers", "-A"]).is_ok()) },
        )
        .await
    }

    /// Whether all of it still runs.
    pub fn runs(&mut self) -> bool {
        let parts = [
            self.scheduler.as_mut(),
            self.manager.as_mut(),
            Some(&mut self.etcd),
        ];
        self.api.runs() && parts.into_iter().flatten().all(Service::runs)
    }
}

fn start_etcd(folder: &Path, port: u16) -> anyhow::Result<Service> {
    let (client, peers) = (
        format!("http://127.0.0.1:{port}"),
        format!("http://127.0.0.1:{}", free_port()?),
    );
    let mut command = Command::new(peer("etcd")?.join("etcd"));
    command
        .arg(format!("--data-dir={}", folder.join("etcd").display()))
        .args([
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peers}"),
            format!("--initial-advertise-peer-urls={peers}"),
            format!("--initial-cluster=default={peers}"),
            "--unsafe-no-fsync".to_owned(),
        ]);
    Service::start("etcd", &mut command, folder.join("etcd.log"))
}

fn start_api(folder: &Path, binaries: &Path, etcd: u16, port: u16) -> anyhow::Result<Service> {
    let file = |name: &str| folder.join(name).display().to_string();
    openssl(&["genrsa", "-out", &file("sa.key"), "2048"])?;
    fs::write(
        folder.join("tokens"),
        format!("{TOKEN},admin,admin,system:masters\n"),
    )?;
    // A front proxy identity, so that aggregated APIs are called at all.
    self_signed(
        "/CN=front-proxy",
        &[],
        &folder.join("proxy.key"),
        &folder.join("proxy.crt"),
    )?;
    let mut command = Command::new(binaries.join("kube-apiserver"));
    command.args([
        format!("--etcd-servers=http://127.0.0.1:{etcd}"),
        format!("--secure-port={port}"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--cert-dir={}", file("certificates")),
        "--service-account-issuer=https://foresail.test".to_owned(),
        format!("--service-account-key-file={}", file("sa.key")),
        format!("--service-account-signing-key-file={}", file("sa.key")),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        format!("--token-auth-file={}", file("tokens")),
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        format!("--requestheader-client-ca-file={}", file("proxy.crt")),
        "--requestheader-allowed-names=front-proxy".to_owned(),
        "--requestheader-username-headers=X-Remote-User".to_owned(),
        "--requestheader-group-headers=X-Remote-Group".to_owned(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
        format!("--proxy-client-cert-file={}", file("proxy.crt")),
        format!("--proxy-client-key-file={}", file("proxy.key")),
    ]);
    Service::start(
        "kube-apiserver",
        &mut command,
        folder.join("kube-apiserver.log"),
    )
}

/// Makes a key and a certificate that signs itself, valid for two days.
pub fn self_signed(
    subject: &str,
    extra: &[&str],
    key: &Path,
    certificate: &Path,
) -> anyhow::Result<()> {
    let (key, certificate) = (key.display().to_string(), certificate.display().to_string());
    let mut arguments = vec![
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", subject,
    ];
    arguments.extend_from_slice(extra);
    arguments.extend_from_slice(&["-keyout", &key, "-out", &certificate]);
    openssl(&arguments)
}

/// Runs openssl quietly.
fn openssl(arguments: &[&str]) -> anyhow::Result<()> {
    let output = Command::new("openssl")
        .args(arguments)
        .output()
        .context("openssl is needed")?;
    ensure!(
        output.status.success(),
        "openssl: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

fn write_kubeconfig(folder: &Path, port: u16) -> anyhow::Result<()> {
    let text = format!(
        "apiVersion: v1
kind: Config
clusters: [{{name: tests, cluster: {{server: 'https://127.0.0.1:{port}', insecure-skip-tls-verify: true}}}}]
users: [{{name: admin, user: {{token: {TOKEN}}}}}]
contexts: [{{name: tests, context: {{cluster: tests, user: admin}}}}]
current-context: tests
"
    );
    fs::write(folder.join("kubeconfig"), text)?;
    Ok(())
}
