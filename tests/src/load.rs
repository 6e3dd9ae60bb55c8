//! A load that goes on in real time: a recorded or generated series, shifted so that one of its minutes
//! is now, as counters that Prometheus scrapes, and as their past.

use std::{
    fmt::Write as _,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::Context;
use exporter_core::simulated::load::Day;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// Seconds between two back-filled samples: a window of 30 s holds at least two, however they lie.
const PAST_STEP: i64 = 10;
/// Rounds of a trace before its first, so that a total never is negative.
const ROUNDS: f64 = 10.0;
/// Where recorded load lies beside a checkout, if it does.
const RECORDED: &str = "../shared/data/count_1min/servegen_m_large_synth.csv";

/// Requests per second by minute.
#[derive(Clone)]
pub struct Trace {
    /// Where it comes from, for people.
    pub name: String,
    rates: Arc<[f64]>,
    /// Requests before each minute.
    sums: Arc<[f64]>,
    /// Minutes at which a flash crowd begins that nothing announces.
    surprises: Vec<usize>,
}

impl Trace {
    /// The recorded load when it is there, else the generated one, scaled to a peak of `peak` requests
    /// per second. Prints which.
    pub fn load(peak: f64) -> anyhow::Result<Self> {
        let path = crate::root().join(RECORDED);
        let day = Day::new(11, 1.0);
        let mut surprises = Vec::new();
        let (name, rates) = if path.exists() {
            (
                format!("recorded load ({RECORDED})"),
                recorded(&std::fs::read_to_string(path)?)?,
            )
        } else {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "minutes of 28 days"
            )]
            surprises.extend(
                (0..28)
                    .map(|number| (day.flash_start(f64::from(number) * 86_400.0) / 60.0) as usize),
            );
            let rates = (0..28 * 1440)
                .map(|minute| day.rate(f64::from(minute) * 60.0))
                .collect();
            ("generated load (28 days)".to_owned(), rates)
        };
        eprintln!("load: {name}");
        let highest = rates.iter().copied().fold(1e-9, f64::max);
        Ok(Self::new(
            name,
            rates.iter().map(|rate| rate / highest * peak).collect(),
            surprises,
        ))
    }

    fn new(name: String, rates: Vec<f64>, surprises: Vec<usize>) -> Self {
        let mut sums = vec![0.0];
        let mut sum = 0.0;
        for rate in &rates {
            sum += rate * 60.0;
            sums.push(sum);
        }
        Self {
            name,
            rates: rates.into(),
            sums: sums.into(),
            surprises,
        }
    }

    /// Minutes at which a flash crowd begins that nothing announces, where that is known.
    pub fn surprises(&self) -> &[usize] {
        &self.surprises
    }

    /// Requests per second by minute.
    pub fn rates(&self) -> &[f64] {
        &self.rates
    }
}

/// Counts by minute as rates; a missing minute takes the one before it.
fn recorded(text: &str) -> anyhow::Result<Vec<f64>> {
    let mut rates: Vec<f64> = Vec::new();
    let mut start = None;
    for line in text.lines().skip(1) {
        let (stamp, value) = line.split_once(',').context("timestamp,value")?;
        let (stamp, value): (i64, f64) = (stamp.parse()?, value.parse()?);
        let index = usize::try_from((stamp - *start.get_or_insert(stamp)) / 60)?;
        while rates.len() < index {
            rates.push(rates.last().copied().unwrap_or(0.0));
        }
        rates.push(value / 60.0);
    }
    Ok(rates)
}

/// A trace whose minute 0 was at a certain time; before its beginning and after its end it repeats.
#[derive(Clone)]
pub struct Shifted {
    /// Value of the label `service`.
    pub service: String,
    trace: Trace,
    zero: f64,
}

impl Shifted {
    /// Minute `minute` of the trace begins at `at` (unix seconds).
    pub fn new(service: &str, trace: &Trace, minute: usize, at: f64) -> Self {
        Self {
            service: service.to_owned(),
            trace: trace.clone(),
            zero: at - minute as f64 * 60.0,
        }
    }

    /// Requests per second at a time.
    pub fn rate(&self, at: f64) -> f64 {
        let (_, minute, _) = self.place(at);
        self.trace.rates[minute]
    }

    /// Requests since a moment long before, at a time.
    pub fn total(&self, at: f64) -> f64 {
        let (round, minute, inside) = self.place(at);
        let whole = self.trace.sums[self.trace.rates.len()];
        (round + ROUNDS) * whole + self.trace.sums[minute] + inside * self.trace.rates[minute]
    }

    /// Which round of the trace, which minute of it, and seconds into that minute.
    fn place(&self, at: f64) -> (f64, usize, f64) {
        let since = at - self.zero;
        let length = self.trace.rates.len() as f64 * 60.0;
        let round = (since / length).floor();
        let inside = since - round * length;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to the length"
        )]
        let minute = ((inside / 60.0) as usize).min(self.trace.rates.len() - 1);
        (round, minute, inside - minute as f64 * 60.0)
    }
}

/// Unix seconds.
pub fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |time| time.as_secs_f64())
}

/// The last `days` before `until` as OpenMetrics text for promtool.
pub fn past(loads: &[Shifted], days: i64, until: f64) -> String {
    let mut text = "# TYPE http_requests counter\n".to_owned();
    for load in loads {
        #[expect(clippy::cast_possible_truncation, reason = "unix seconds")]
        let until = until as i64;
        let mut at = until - days * 86_400;
        while at < until {
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "http_requests_total{{service=\"{}\"}} {:.3} {at}",
                load.service,
                load.total(at as f64)
            );
            at += PAST_STEP;
        }
    }
    text + "# EOF\n"
}

/// Serves the counters of now; the address, and the task that serves until it is aborted.
pub async fn serve(loads: Vec<Shifted>) -> anyhow::Result<(String, tokio::task::JoinHandle<()>)> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?.to_string();
    let task = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut text = "# TYPE http_requests_total counter\n".to_owned();
            for load in &loads {
                let _ = writeln!(
                    text,
                    "http_requests_total{{service=\"{}\"}} {:.3}",
                    load.service,
                    load.total(now())
                );
            }
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
                text.len()
            );
            tokio::spawn(async move {
                let mut request = [0; 4096];
                // A scraper that goes away early is no concern of the load.
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    Ok((address, task))
}
