//! A real Prometheus with a back-filled past, which can be stopped and started again on its data.

use std::{
    collections::BTreeSet, fmt::Write as _, fs, path::PathBuf, process::Command, time::Duration,
};

use anyhow::ensure;
use tempfile::TempDir;

use crate::{
    free_port, peer,
    service::{Service, answers},
};

/// A Prometheus that ends with the value.
pub struct Prometheus {
    service: Option<Service>,
    folder: TempDir,
    port: u16,
}

impl Prometheus {
    /// A Prometheus that scrapes `targets` (job, address) every 5 s, with `past` (OpenMetrics text with
    /// timestamps, ended by `# EOF`) already in its store.
    pub async fn start(targets: &[(&str, String)], past: Option<&str>) -> anyhow::Result<Self> {
        Self::begin(targets, past, "").await
    }

    /// One that also evaluates, every 5 s, the rules of `alerts/`.
    pub async fn with_rules(targets: &[(&str, String)]) -> anyhow::Result<Self> {
        let files = crate::root().canonicalize()?.join("alerts/*.yaml");
        Self::begin(
            targets,
            None,
            &format!("rule_files: ['{}']\n", files.display()),
        )
        .await
    }

    async fn begin(
        targets: &[(&str, String)],
        past: Option<&str>,
        rules: &str,
    ) -> anyhow::Result<Self> {
        // The first provider wins.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir()?;
        if let Some(past) = past {
            fs::write(folder.path().join("past.txt"), past)?;
            let output = Command::new(peer("prometheus")?.join("promtool"))
                .args(["tsdb", "create-blocks-from", "openmetrics", "--quiet"])
                .arg(folder.path().join("past.txt"))
                .arg(folder.path().join("data"))
                .output()?;
            ensure!(
                output.status.success(),
                "promtool: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        let mut config = format!(
            "global: {{scrape_interval: 5s, scrape_timeout: 4s, evaluation_interval: 5s}}\n{rules}scrape_configs:\n"
        );
        for (job, address) in targets {
            // Writing to a String cannot fail.
            let _ = write!(
                config,
                "- job_name: {job}\n  honor_labels: true\n  static_configs: [{{targets: ['{address}']}}]\n"
            );
        }
        fs::write(folder.path().join("prometheus.yml"), config)?;
        let mut prometheus = Self {
            service: None,
            folder,
            port: free_port()?,
        };
        prometheus.resume().await?;
        Ok(prometheus)
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Its folder, for files of promtool.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// Ends it; the data stay.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        if let Some(mut service) = self.service.take() {
            service.stop(Duration::from_secs(30))?;
        }
        Ok(())
    }

    /// Starts it again on its data and its port.
    pub async fn resume(&mut self) -> anyhow::Result<()> {
        let mut command = Command::new(peer("prometheus")?.join("prometheus"));
        command.args([
            format!(
                "--config.file={}",
                self.folder.path().join("prometheus.yml").display()
            ),
            format!(
                "--storage.tsdb.path={}",
                self.folder.path().join("data").display()
            ),
            "--storage.tsdb.retention.time=30d".to_owned(),
            format!("--web.listen-address=127.0.0.1:{}", self.port),
        ]);
        let mut service = Service::start(
            "prometheus",
            &mut command,
            self.folder.path().join("prometheus.log"),
        )?;
        let (client, url) = (reqwest::Client::new(), format!("{}/-/ready", self.url()));
        service
            .wait(Duration::from_secs(90), || answers(&client, &url))
            .await?;
        self.service = Some(service);
        Ok(())
    }

    /// The single value of an instant query, `None` when the answer is empty.
    pub async fn value(&self, query: &str) -> anyhow::Result<Option<f64>> {
        let answer = self.ask("query", &[("query", query)]).await?;
        let text = answer["result"][0]["value"][1].as_str();
        Ok(text.map(str::parse).transpose()?)
    }

    /// How many series answer an instant query.
    pub async fn count(&self, query: &str) -> anyhow::Result<usize> {
        let answer = self.ask("query", &[("query", query)]).await?;
        Ok(answer["result"].as_array().map_or(0, Vec::len))
    }

    /// The values of a label on the series of a metric, sorted.
    pub async fn label_values(&self, metric: &str, label: &str) -> anyhow::Result<Vec<String>> {
        let answer = self
            .ask(&format!("label/{label}/values"), &[("match[]", metric)])
            .await?;
        Ok(serde_json::from_value(answer)?)
    }

    /// The data of an answer of its API; a refusal is an error with its words.
    pub async fn ask(
        &self,
        what: &str,
        parameters: &[(&str, &str)],
    ) -> anyhow::Result<serde_json::Value> {
        let url = format!("{}/api/v1/{what}", self.url());
        let request = reqwest::Client::new().get(url).query(parameters);
        let mut answer: serde_json::Value = request.send().await?.json().await?;
        ensure!(
            answer["status"] == "success",
            "{parameters:?}: {}",
            answer["error"]
        );
        Ok(answer["data"].take())
    }
}

/// Runs promtool with a text on its standard input; whether it succeeded, and all that it said.
pub fn promtool(arguments: &[&str], input: &str) -> anyhow::Result<(bool, String)> {
    use std::io::Write as _;
    let mut child = Command::new(peer("prometheus")?.join("promtool"))
        .args(arguments)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    Ok((output.status.success(), text))
}

/// What promtool finds wrong with an exposition: the names of DCGM's own metrics that it complains of,
/// which are listed in `tests/config/dcgm-names.txt`, and every other complaint.
pub fn lint(exposition: &str) -> anyhow::Result<(BTreeSet<String>, Vec<String>)> {
    let listed = std::fs::read_to_string(crate::root().join("tests/config/dcgm-names.txt"))?;
    let (_, complaints) = promtool(&["check", "metrics"], exposition)?;
    let (mut dcgm, mut others) = (BTreeSet::new(), Vec::new());
    for complaint in complaints.lines() {
        let name = complaint.split_whitespace().next().unwrap_or_default();
        if listed.lines().any(|line| line == name) {
            dcgm.insert(name.to_owned());
        } else {
            others.push(complaint.to_owned());
        }
    }
    Ok((dcgm, others))
}
