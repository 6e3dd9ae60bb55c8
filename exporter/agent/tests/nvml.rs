//! The real exporter process on the driver library for tests: what a scrape says about boards that work, are
//! partitioned, lost, hung or not there at all. It never needs a GPU and waits for conditions, not for time to pass.
#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use exporter_core::exposition::{Sample, parse};
use tempfile::TempDir;

/// Longest wait for a condition; a machine under load is slow, and a green test does not wait it out.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running exporter and the file that describes its hardware.
struct Exporter {
    process: Child,
    port: u16,
    folder: TempDir,
}

impl Exporter {
    fn start(world: &str) -> Self {
        Self::with_library(world, &library())
    }

    fn with_library(world: &str, library: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        std::fs::write(folder.path().join("world"), world).unwrap();
        std::fs::write(folder.path().join("config.yaml"), "intervalSeconds: 1\n").unwrap();
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
    fn becomes(&self, world: &str) {
        let next = self.folder.path().join("next");
        std::fs::write(&next, world).unwrap();
        std::fs::rename(next, self.folder.path().join("world")).unwrap();
    }

    fn get(&self, path: &str) -> std::io::Result<String> {
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
    fn scrape_until(&mut self, what: &str, fulfilled: impl Fn(&Scrape) -> bool) -> Scrape {
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

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An answer to a scrape, or nothing when the exporter does not serve yet.
struct Scrape(String);

impl Scrape {
    fn samples(&self) -> Vec<Sample> {
        let (_, body) = self.0.split_once("\r\n\r\n").unwrap_or_default();
        parse(body).unwrap()
    }

    /// Value of the one series of this name that carries all these labels.
    fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
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

    fn source_up(&self) -> Option<f64> {
        self.value("foresail_source_up", &[("source", "nvml")])
    }

    /// Number of series of this name.
    fn names(&self, name: &str) -> usize {
        let samples = self.samples();
        samples.iter().filter(|sample| sample.name == name).count()
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Builds the driver library for tests into the folder that the exporter was built into.
fn library() -> PathBuf {
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

#[test]
fn boards_show_under_dcgms_names_and_labels() {
    let mut exporter = Exporter::start(
        "gpu 0 board H100\ngpu 0 set power 612345\ngpu 0 set memory_used_mib 1000\n\
         gpu 0 set gpu_utilization 97\ngpu 1 board L40S\n",
    );
    let scrape = exporter.scrape_until("two boards", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 2);
    let labels = "gpu=\"0\",UUID=\"GPU-00000000-0000-0000-0000-000000000000\",\
                  pci_bus_id=\"00000000:1A:00.0\",device=\"nvidia0\",\
                  modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"node-1\",\
                  DCGM_FI_DRIVER_VERSION=\"590.48.01\"";
    for (name, value) in [
        ("DCGM_FI_DEV_SM_CLOCK", "345"),
        ("DCGM_FI_DEV_MEM_CLOCK", "2619"),
        ("DCGM_FI_DEV_MEMORY_TEMP", "48"),
        ("DCGM_FI_DEV_GPU_TEMP", "42"),
        ("DCGM_FI_DEV_POWER_USAGE", "612.345000"),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "1234567"),
        ("DCGM_FI_DEV_GPU_UTIL", "97"),
        ("DCGM_FI_DEV_FB_USED", "1000"),
        ("DCGM_FI_DEV_FB_FREE", "80080"),
        ("DCGM_FI_DEV_FB_RESERVED", "479"),
        ("DCGM_FI_DEV_ROW_REMAP_FAILURE", "0"),
    ] {
        let line = format!("{name}{{{labels}}} {value}");
        assert!(scrape.0.lines().any(|l| l == line), "{line}\n{}", scrape.0);
    }
    // The second board has no memory sensor and no links: absent, not zero.
    let l40s = [("gpu", "1")];
    assert_eq!(scrape.value("DCGM_FI_DEV_GPU_UTIL", &l40s), Some(100.0));
    assert_eq!(scrape.value("DCGM_FI_DEV_MEMORY_TEMP", &l40s), None);
    let links = "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL";
    assert_eq!(scrape.value(links, &l40s), None);
    assert_eq!(scrape.source_up(), Some(1.0));
}

#[test]
fn instances_show_beside_their_board() {
    let mut exporter = Exporter::start(
        "gpu 0 board H100\ngpu 0 mig on\ngpu 0 instance 3g.40gb id 2 start 4 used 26\n\
         gpu 0 instance 1g.10gb id 9 start 2 used 9\n",
    );
    let instance = [("GPU_I_PROFILE", "3g.40gb"), ("GPU_I_ID", "2")];
    let scrape = exporter.scrape_until("the instance", |s| {
        s.value("DCGM_FI_DEV_FB_USED", &instance).is_some()
    });
    let small = [("GPU_I_PROFILE", "1g.10gb"), ("GPU_I_ID", "9")];
    assert_eq!(scrape.value("DCGM_FI_DEV_FB_USED", &instance), Some(26.0));
    assert_eq!(scrape.value("DCGM_FI_DEV_FB_FREE", &small), Some(9975.0));
    // Power is the board's alone; utilization is not known while MIG is on.
    assert_eq!(scrape.names("DCGM_FI_DEV_POWER_USAGE"), 1);
    assert_eq!(scrape.names("DCGM_FI_DEV_GPU_UTIL"), 0);
    assert_eq!(scrape.names("DCGM_FI_DEV_ENC_UTIL"), 0);
}

#[test]
fn a_failing_call_costs_its_own_series_and_an_xid_shows() {
    let world = "gpu 0 board A100\ngpu 0 fault nvmlDeviceGetTemperature return 4711\n";
    let mut exporter = Exporter::start(world);
    let gpu = [("gpu", "0")];
    let scrape = exporter.scrape_until("the board", |s| s.names("DCGM_FI_DEV_SM_CLOCK") == 1);
    assert_eq!(scrape.value("DCGM_FI_DEV_GPU_TEMP", &gpu), None);
    assert_eq!(scrape.value("DCGM_FI_DEV_XID_ERRORS", &gpu), Some(0.0));
    exporter.becomes("gpu 0 board A100\ngpu 0 xid 94\n");
    let scrape = exporter.scrape_until("the Xid", |s| {
        s.value("DCGM_FI_DEV_XID_ERRORS", &gpu) == Some(94.0)
    });
    assert_eq!(scrape.value("DCGM_FI_DEV_GPU_TEMP", &gpu), Some(34.0));
}

#[test]
fn a_lost_board_leaves_the_others_and_is_reported() {
    let boards = "gpu 0 board H100\ngpu 1 board H100\n";
    let mut exporter = Exporter::start(boards);
    exporter.scrape_until("both boards", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 2);
    exporter.becomes(&format!("{boards}gpu 1 fault * return 15\n"));
    let scrape = exporter.scrape_until("the loss", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 1);
    assert!(
        scrape
            .value("DCGM_FI_DEV_GPU_TEMP", &[("gpu", "0")])
            .is_some()
    );
    let up = |gpu| scrape.value("foresail_gpu_up", &[("gpu", gpu)]);
    assert_eq!((up("0"), up("1")), (Some(1.0), Some(0.0)), "{}", scrape.0);
    exporter.becomes(boards);
    exporter.scrape_until("its return", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 2);
}

#[test]
fn a_hung_call_leaves_the_process_serving_without_stale_series() {
    let boards = "gpu 0 board T4\n";
    let mut exporter = Exporter::start(boards);
    exporter.scrape_until("the board", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 1);
    exporter.becomes(&format!(
        "{boards}gpu 0 fault nvmlDeviceGetPowerUsage hang\n"
    ));
    let scrape = exporter.scrape_until("the fence", |s| s.source_up() == Some(0.0));
    assert_eq!(scrape.names("DCGM_FI_DEV_GPU_TEMP"), 0, "{}", scrape.0);
    let health = exporter.get("/healthz").unwrap();
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    let page = exporter.get("/").unwrap();
    assert!(page.contains("not reached: no answer for"), "{page}");
    exporter.becomes(boards);
    exporter.scrape_until("its return", |s| {
        s.source_up() == Some(1.0) && s.names("DCGM_FI_DEV_GPU_TEMP") == 1
    });
}

#[test]
fn an_absent_library_is_no_crash_and_is_found_when_it_comes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libnvidia-ml.so.1");
    let mut exporter = Exporter::with_library("gpu 0 board T4\n", &path);
    let scrape = exporter.scrape_until("the report", |s| s.source_up() == Some(0.0));
    assert_eq!(scrape.names("DCGM_FI_DEV_GPU_TEMP"), 0);
    std::fs::copy(library(), folder.path().join("next")).unwrap();
    std::fs::rename(folder.path().join("next"), &path).unwrap();
    exporter.scrape_until("the board", |s| {
        s.source_up() == Some(1.0) && s.names("DCGM_FI_DEV_GPU_TEMP") == 1
    });
}

#[test]
fn a_driver_that_is_not_loaded_yet_is_tried_again() {
    let mut exporter = Exporter::start("gpu 0 board T4\nfault nvmlInit_v2 return 9\n");
    exporter.scrape_until("the report", |s| s.source_up() == Some(0.0));
    exporter.becomes("gpu 0 board T4\n");
    exporter.scrape_until("the board", |s| s.source_up() == Some(1.0));
}
