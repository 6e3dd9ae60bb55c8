//! One child process: its log in a file, its readiness polled with a deadline, its end with the value.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, bail};

/// A running program; it is killed when the value is dropped, and when this process is killed.
pub struct Service {
    name: String,
    child: Child,
    guard: Child,
    log: PathBuf,
}

impl Service {
    /// Starts a program whose output goes to `log`.
    pub fn start(name: &str, command: &mut Command, log: PathBuf) -> anyhow::Result<Self> {
        let file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)?;
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("{name} cannot be started"))?;
        let guard = guard(child.id())?;
        Ok(Self {
            name: name.to_owned(),
            child,
            guard,
            log,
        })
    }

    /// Waits until `ready` says so; fails when the program ends or the deadline passes, with its log.
    pub async fn wait<F>(
        &mut self,
        deadline: Duration,
        mut ready: impl FnMut() -> F,
    ) -> anyhow::Result<()>
    where
        F: Future<Output = bool>,
    {
        let started = Instant::now();
        loop {
            if ready().await {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended with {status}:\n{}", self.name, self.tail());
            }
            if started.elapsed() > deadline {
                bail!(
                    "{} was not ready after {deadline:?}:\n{}",
                    self.name,
                    self.tail()
                );
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The end of the log.
    pub fn tail(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    /// Whether the program still runs.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks the program to end (SIGTERM) and waits for it; its exit code.
    pub fn stop(&mut self, deadline: Duration) -> anyhow::Result<Option<i32>> {
        let status = Command::new("kill")
            .arg(self.child.id().to_string())
            .status()?;
        if !status.success() {
            bail!("{} cannot be ended", self.name);
        }
        let started = Instant::now();
        while started.elapsed() < deadline {
            if let Some(status) = self.child.try_wait()? {
                self.kill();
                return Ok(status.code());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!(
            "{} did not end within {deadline:?} of SIGTERM:\n{}",
            self.name,
            self.tail()
        );
    }

    /// Kills the program at once (SIGKILL).
    pub fn kill(&mut self) {
        // The guard goes first, so that it never kills another program that got the number. All fail
        // only when the process is gone already.
        for process in [&mut self.guard, &mut self.child] {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// A process that kills program `id` when this process ends in whatever way: its standard input ends then.
fn guard(id: u32) -> anyhow::Result<Child> {
    Command::new("sh")
        .args(["-c", "while read -r _; do :; done; kill -KILL \"$0\""])
        .arg(id.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("no shell can be started")
}

impl Drop for Service {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether a GET of this address answers with success.
pub async fn answers(client: &reqwest::Client, url: &str) -> bool {
    let request = client.get(url).timeout(Duration::from_secs(2)).send();
    request
        .await
        .is_ok_and(|response| response.status().is_success())
}

/// Waits for a condition of the world, polled every 200 ms.
pub async fn until<F>(
    what: &str,
    deadline: Duration,
    mut holds: impl FnMut() -> F,
) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<bool>>,
{
    let started = Instant::now();
    while started.elapsed() < deadline {
        if holds().await? {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    bail!("{what}: not so after {deadline:?}")
}
