//! Starts the program, talks to it, and stands in for inference servers. Holds no test.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use exporter_core::exposition::{Sample, parse};

const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foresail-exporter"));
    command.env("NODE_NAME", "node-1").env_remove("RUST_LOG");
    // What the machine that tests says of a dcgm-exporter is not meant.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().contains("DCGM_") {
            command.env_remove(name);
        }
    }
    command
}

pub(crate) fn output(args: &[&str]) -> Output {
    command().args(args).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The value of the only series with that name and label.
pub(crate) fn value(samples: &[Sample], name: &str, label: (&str, &str)) -> Option<f64> {
    let fits = |s: &&Sample| s.labels.get(label.0).is_some_and(|value| value == label.1);
    let mut found = samples
        .iter()
        .filter(|sample| sample.name == name)
        .filter(fits);
    let first = found.next()?;
    assert!(found.next().is_none(), "{name} stands twice");
    Some(first.value)
}

/// A running exporter; killed when the test ends, should it still run.
pub(crate) struct Exporter {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    log: Arc<Mutex<String>>,
}

impl Exporter {
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut command = command();
        command
            .args(["--address", "127.0.0.1:0"])
            .args(args)
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines.find_map(|line| {
            let line = line.unwrap();
            let (_, after) = line.split_once("address=")?;
            after.split(' ').next()?.parse().ok()
        });
        // Keeps the pipe empty, so that logging never blocks the program.
        let log = Arc::<Mutex<String>>::default();
        let kept = Arc::clone(&log);
        let keep = move |line: std::io::Result<String>| {
            let mut kept = kept.lock().unwrap();
            *kept += &line.unwrap_or_default();
            *kept += "\n";
        };
        thread::spawn(move || lines.for_each(keep));
        let address = address.expect("no line says where it serves");
        Self {
            child,
            address,
            log,
        }
    }

    /// Sends `request` and reads until the exporter closes: head and body.
    pub(crate) fn raw(&self, request: &str) -> (String, Vec<u8>) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // A refused client may see a reset after the answer.
        let _ = stream.read_to_end(&mut answer);
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
        let body = end.map_or(answer.len(), |end| end + 4);
        (text(&answer[..body]), answer[body..].to_vec())
    }

    pub(crate) fn ask(&self, method: &str, path: &str, headers: &str) -> (String, Vec<u8>) {
        let head = format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
        self.raw(&format!("{head}{headers}\r\n"))
    }

    pub(crate) fn metrics(&self) -> Vec<Sample> {
        let (head, body) = self.ask("GET", "/metrics", "");
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        parse(&text(&body)).unwrap()
    }

    /// Whether the log has said that since it serves.
    pub(crate) fn said(&self, what: &str) -> Option<()> {
        self.log.lock().unwrap().contains(what).then_some(())
    }

    /// Polls until `found` finds something, or fails after a while.
    pub(crate) fn until<T>(&self, found: impl Fn(&Self) -> Option<T>) -> T {
        let started = Instant::now();
        loop {
            if let Some(found) = found(self) {
                return found;
            }
            assert!(started.elapsed() < TIMEOUT, "did not happen in time");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Connections that are open and say nothing.
    pub(crate) fn silent(&self, count: usize) -> Vec<TcpStream> {
        let connect = |_| TcpStream::connect(self.address).unwrap();
        (0..count).map(connect).collect()
    }

    pub(crate) fn ready(&self) {
        self.until(|me| {
            me.ask("GET", "/readyz", "")
                .0
                .starts_with("HTTP/1.1 200")
                .then_some(())
        });
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        // Fails only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn testdata(end: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files
        .filter(|path| path.to_str().unwrap().ends_with(end))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}
