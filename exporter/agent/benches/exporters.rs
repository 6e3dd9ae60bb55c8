//! Exporters as whole processes on the same driver library for tests: what a scrape takes while gathering goes on, what a
//! process holds, what a gather costs. Prints Markdown, with every figure as a ratio too; asserts only that memory stays
//! flat. Peers that are not installed are named.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a benchmark starts programs, reads the clock and prints"
)]

use std::{
    fmt::Write as _,
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Scrapes of which one figure is made.
const SCRAPES: usize = 2000;
/// Scrapes of the soak, and how many clients make them.
const SOAK: usize = 100_000;
const CLIENTS: usize = 4;
/// Seconds over which gathers are counted.
const GATHERS: u64 = 20;

/// A program that serves `/metrics`.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(command: &mut Command, port: u16, folder: &Path) -> Option<Self> {
        let log = fs::File::create(folder.join(format!("log-{port}"))).unwrap();
        let child = command
            .env("LD_LIBRARY_PATH", folder)
            .env("FORESAIL_TEST_NVML", folder.join("world"))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        let mut server = Self {
            child: child.ok()?,
            port,
        };
        for _ in 0..300 {
            if server.scrape().is_some_and(|text| text.contains("H200")) {
                return Some(server);
            }
            if server.child.try_wait().unwrap().is_some() {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
        eprintln!(
            "{}",
            fs::read_to_string(folder.join(format!("log-{port}"))).unwrap()
        );
        None
    }

    fn scrape(&self) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .ok()?;
        write!(
            stream,
            "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        .ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Milliseconds of each scrape, sorted.
    fn scrapes(&self, count: usize) -> Vec<f64> {
        let mut times: Vec<f64> = (0..count)
            .map(|_| {
                let start = Instant::now();
                let text = self.scrape().unwrap_or_default();
                assert!(
                    text.starts_with("HTTP/1.") && text.contains(" 200 "),
                    "{text}"
                );
                start.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times
    }

    fn resident_mib(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
    }

    /// Seconds of processor time so far.
    fn busy(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .collect();
        let ticks = |field: usize| fields[field].parse::<f64>().unwrap();
        (ticks(11) + ticks(12)) / 100.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Eight boards; `cut`: into seven instances each, some with a process.
fn world(cut: bool, turn: usize) -> String {
    let mut world = String::new();
    for gpu in 0..8 {
        writeln!(world, "gpu {gpu} board H200\ngpu {gpu} set power 300000").unwrap();
        if cut {
            writeln!(world, "gpu {gpu} mig on").unwrap();
            for place in 0..7 - turn % 3 {
                let id = 7 + place;
                writeln!(
                    world,
                    "gpu {gpu} instance 1g.18gb id {id} start {place} used {turn}"
                )
                .unwrap();
                writeln!(world, "gpu {gpu} set gpm_graphics.{id} 60").unwrap();
                let pid = 1000 + turn * 100 + gpu * 7 + place;
                writeln!(
                    world,
                    "gpu {gpu} process {pid} compute used 9 in {id} busy 40 20"
                )
                .unwrap();
            }
        }
    }
    world
}

fn becomes(folder: &Path, world: &str) {
    fs::write(folder.join("next"), world).unwrap();
    fs::rename(folder.join("next"), folder.join("world")).unwrap();
}

fn foresail(folder: &Path, seconds: u32) -> Server {
    let port = free_port();
    fs::write(
        folder.join("config.yaml"),
        format!("intervalSeconds: {seconds}\n"),
    )
    .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_foresail-exporter"));
    command
        .args(["--address", &format!("127.0.0.1:{port}"), "--config"])
        .arg(folder.join("config.yaml"))
        .arg("--nvml-library")
        .arg(folder.join("libnvidia-ml.so.1"));
    Server::start(&mut command, port, folder).unwrap()
}

/// A peer from the cache of real programs, when `make bench` could install it.
fn peer(name: &str, program: &str) -> Option<PathBuf> {
    let cache = std::env::var_os("FORESAIL_CACHE")?;
    let folder = PathBuf::from(cache).join("peers");
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|e| e.path())
        .collect();
    found.retain(|path| {
        let file = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        file.starts_with(&format!("{name}-")) && path.join("bin").join(program).exists()
    });
    found.sort();
    Some(found.pop()?.join("bin").join(program))
}

/// One line: median and p99 of a scrape, memory, processor time of a gather.
struct Figures {
    name: &'static str,
    median: f64,
    p99: f64,
    resident: f64,
    busy: f64,
}

fn measure(name: &'static str, server: &Server, count: usize) -> Figures {
    server.scrapes(count / 10);
    let before = (server.busy(), Instant::now());
    thread::sleep(Duration::from_secs(GATHERS));
    let busy = (server.busy() - before.0) / before.1.elapsed().as_secs_f64();
    let times = server.scrapes(count);
    Figures {
        name,
        median: times[times.len() / 2],
        p99: times[times.len() * 99 / 100],
        resident: server.resident_mib(),
        busy,
    }
}

fn table(rows: &[Figures]) {
    println!("| exporter | scrape, median | p99 | resident | processor, a gather a second |");
    println!("| --- | --- | --- | --- | --- |");
    let own = &rows[0];
    for row in rows {
        println!(
            "| {} | {:.2} ms ({:.1} ×) | {:.2} ms ({:.1} ×) | {:.1} MiB ({:.1} ×) | {:.2} % ({:.1} ×) |",
            row.name,
            row.median,
            row.median / own.median,
            row.p99,
            row.p99 / own.p99,
            row.resident,
            row.resident / own.resident,
            row.busy * 100.0,
            row.busy / own.busy,
        );
    }
}

fn peers(folder: &Path) -> Vec<Figures> {
    let mut rows = Vec::new();
    for (name, program, words) in [
        (
            "nvitop-exporter",
            "nvitop-exporter",
            &["--interval", "1", "--host", "127.0.0.1", "--port"][..],
        ),
        (
            "all-smi",
            "all-smi",
            &["api", "--interval", "1", "--port"][..],
        ),
    ] {
        let port = free_port();
        let server = peer(name, program).and_then(|path| {
            let mut command = Command::new(path);
            command.args(words).arg(port.to_string());
            Server::start(&mut command, port, folder)
        });
        match server {
            Some(server) => rows.push(measure(name, &server, SCRAPES / 10)),
            None => println!("{name} is not installed or does not start: left out"),
        }
    }
    rows
}

fn soak(folder: &Path) {
    let server = foresail(folder, 1);
    server.scrapes(2000);
    let mut resident = vec![server.resident_mib()];
    let turns = 50;
    for turn in 0..turns {
        becomes(folder, &world(true, turn));
        thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| server.scrapes(SOAK / CLIENTS / turns));
            }
        });
        resident.push(server.resident_mib());
    }
    let (early, late) = (resident[turns / 5], resident[turns]);
    println!(
        "{SOAK} scrapes by {CLIENTS} clients while instances and processes come and go: {early:.1} MiB after a fifth, {late:.1} MiB at the end ({:.2} ×)\n",
        late / early
    );
    assert!(late < early * 1.05 + 1.0, "{resident:?}");
}

fn main() {
    let library =
        Path::new(env!("CARGO_BIN_EXE_foresail-exporter")).with_file_name("libtests_nvml.so");
    assert!(
        library.is_file(),
        "run `make bench`, which builds {}",
        library.display()
    );
    let folder = std::env::temp_dir().join(format!("foresail-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    symlink(&library, folder.join("libnvidia-ml.so.1")).unwrap();
    println!("\n8 GPUs, none of them cut:\n");
    becomes(&folder, &world(false, 0));
    let mut rows = vec![measure("foresail-exporter", &foresail(&folder, 1), SCRAPES)];
    rows.extend(peers(&folder));
    table(&rows);
    println!("\n8 GPUs cut into 7 each, 56 processes:\n");
    becomes(&folder, &world(true, 0));
    let cut = measure("foresail-exporter", &foresail(&folder, 1), SCRAPES);
    println!(
        "At a gather every 15 s that is {:.2} % of a core.\n",
        cut.busy * 100.0 / 15.0
    );
    table(&[cut]);
    println!();
    soak(&folder);
    let _ = fs::remove_dir_all(&folder);
}
