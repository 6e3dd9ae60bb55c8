//! The exporter as a process on the driver library for tests, and what it answers.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use exporter_core::exposition::{Sample, parse};
use tempfile::TempDir;

/// Longest wait for a condition; a machine under load is slow, and a green test does not wait it out.
const PATIENCE: Duration = Duration::from_mins(1);

/// What an exporter is told besides its hardware.
pub(crate) struct Setting<'a> {
    /// A counters file.
    pub(crate) counters: Option<&'a str>,
    /// Seconds between two gathers.
    pub(crate) interval: u32,
    /// Further lines of its configuration.
    pub(crate) more: &'a str,
}

impl Default for Setting<'_> {
    fn default() -> Self {
        Self {
            counters: None,
            interval: 1,
            more: "",
        }
    }
}

/// A running exporter and the file that describes its hardware.
pub(crate) struct Exporter {
    process: Child,
    port: u16,
    folder: TempDir,
}

impl Exporter {
    pub(crate) fn start(world: &str) -> Self {
        Self::with_library(world, &library())
    }

    /// Serves what a counters file names.
    pub(crate) fn with_counters(world: &str, counters: &str) -> Self {
        let setting = Setting {
            counters: Some(counters),
            ..Setting::default()
        };
        Self::begin(world, &library(), &setting)
    }

    /// Gathers once and, within a test, not again.
    pub(crate) fn gathering_once(world: &str) -> Self {
        let setting = Setting {
            interval: 300,
            ..Setting::default()
        };
        Self::begin(world, &library(), &setting)
    }

    pub(crate) fn with_library(world: &str, library: &Path) -> Self {
        Self::begin(world, library, &Setting::default())
    }

    pub(crate) fn begin(world: &str, library: &Path, setting: &Setting<'_>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        std::fs::write(folder.path().join("world"), world).unwrap();
        let mut config = format!(
            "intervalSeconds: {}\nnvmlDeadlineSeconds: 0.7\n",
            setting.interval
        );
        if let Some(counters) = setting.counters {
            let file = folder.path().join("counters.csv");
            std::fs::write(&file, counters).unwrap();
            config += "collectors: ";
            config += file.to_str().unwrap();
        }
        config += setting.more;
        std::fs::write(folder.path().join("config.yaml"), config).unwrap();
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let process = Command::new(env!("CARGO_BIN_EXE_foresail-exporter"))
            .args(["--address", &format!("127.0.0.1:{port}")])
            .arg("--nvml-library")
            .arg(library)
            .arg("--config")
            .arg(folder.path().join("config.yaml"))
            .env("FORESAIL_TEST_NVML", folder.path().join("world"))
            .env("NODE_NAME", "node-1")
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Self {
            process,
            port,
            folder,
        }
    }

    /// Replaces the hardware in one step: the library must not read half a file.
    pub(crate) fn becomes(&self, world: &str) {
        let next = self.folder.path().join("next");
        std::fs::write(&next, world).unwrap();
        std::fs::rename(next, self.folder.path().join("world")).unwrap();
    }

    pub(crate) fn get(&self, path: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// The first scrape that fulfils the condition.
    pub(crate) fn scrape_until(
        &mut self,
        what: &str,
        fulfilled: impl Fn(&Scrape) -> bool,
    ) -> Scrape {
        let end = Instant::now() + PATIENCE;
        loop {
            let scrape = Scrape(self.get("/metrics").unwrap_or_default());
            if fulfilled(&scrape) {
                return scrape;
            }
            let ended = self.process.try_wait().unwrap();
            let waits = ended.is_none() && Instant::now() < end;
            let log = || std::fs::read_to_string(self.folder.path().join("log")).unwrap();
            assert!(
                waits,
                "never came: {what} ({ended:?})\n{}{}",
                log(),
                scrape.0
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Exporter {
    /// Asks the process to end and waits for it; the time it took.
    pub(crate) fn end(&mut self) -> Duration {
        let told = Instant::now();
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(sent.success());
        while self.process.try_wait().unwrap().is_none() {
            assert!(told.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
        told.elapsed()
    }

    /// Memory that the process holds, as the kernel counts it.
    pub(crate) fn resident_kib(&self) -> u64 {
        let status = format!("/proc/{}/status", self.process.id());
        let status = std::fs::read_to_string(status).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.unwrap().trim().trim_end_matches(" kB");
        number.parse().unwrap()
    }

    /// A count that the library keeps: what is open, and how many calls ran at once.
    pub(crate) fn state(&self, name: &str) -> Option<i64> {
        let text = std::fs::read_to_string(self.folder.path().join("world.state")).unwrap();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.map(|count| count.parse().unwrap())
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An answer to a scrape, or nothing when the exporter does not serve yet.
pub(crate) struct Scrape(pub(crate) String);

impl Scrape {
    pub(crate) fn samples(&self) -> Vec<Sample> {
        let (_, body) = self.0.split_once("\r\n\r\n").unwrap_or_default();
        parse(body).unwrap()
    }

    /// Value of the one series of this name that carries all these labels.
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let carries = |sample: &Sample| {
            let mut wanted = labels.iter();
            wanted.all(|(key, value)| sample.labels.get(*key).is_some_and(|own| own == value))
        };
        let samples = self.samples();
        let mut found = samples.iter().filter(|s| s.name == name && carries(s));
        let value = found.next().map(|sample| sample.value);
        assert!(found.next().is_none(), "two series {name} {labels:?}");
        value
    }

    pub(crate) fn source_up(&self) -> Option<f64> {
        self.value("foresail_source_up", &[("source", "nvml")])
    }

    /// Number of series of this name.
    pub(crate) fn names(&self, name: &str) -> usize {
        let samples = self.samples();
        samples.iter().filter(|sample| sample.name == name).count()
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// The driver library for tests, built once into the folder that the exporter was built into.
pub(crate) fn library() -> PathBuf {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(build).clone()
}

fn build() -> PathBuf {
    let exporter = Path::new(env!("CARGO_BIN_EXE_foresail-exporter"));
    let target = exporter.ancestors().nth(2).unwrap();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--package", "tests-nvml"])
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .unwrap();
    assert!(built.success(), "cargo build --package tests-nvml failed");
    let library = target.join("debug/libtests_nvml.so");
    assert!(library.is_file(), "not built: {}", library.display());
    library
}
