//! `foresail demo`: a whole day of decisions in a minute, on simulated GPUs, through the real core. No
//! cluster, no GPU, no Prometheus. Prints each change with its reason, serves a page, ends with a score.

mod day;
mod serve;

use std::{
    io::Write as _,
    net::Ipv4Addr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use day::{Demo, REPLICA, STEPS};
use tokio::net::TcpListener;

/// The port that is tried first when none is asked for.
const PORT: u16 = 8090;

/// Arguments of `foresail demo`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How long the day takes: 60s means 24 simulated minutes a second
    #[arg(long = "for", default_value = "60s", value_parser = length)]
    length: i64,
    /// Port of the page on 127.0.0.1; 8090, or any free one where that is taken
    #[arg(long)]
    port: Option<u16>,
    /// Another number gives another day
    #[arg(long, default_value_t = 11)]
    seed: u64,
}

fn length(text: &str) -> Result<i64, String> {
    let seconds = crate::duration::parse(text)?;
    if (5..=86_400).contains(&seconds) {
        Ok(seconds)
    } else {
        Err(format!("{text} is not between 5s and 24h"))
    }
}

/// Runs the command. It ends when whoever reads its lines is gone: nobody would see the rest.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    match runtime.block_on(demo(args)) {
        Err(error) if error.is::<Unread>() => Ok(()),
        result => result,
    }
}

/// The reader of the lines is gone.
#[derive(Debug, thiserror::Error)]
#[error("nobody reads the lines any more")]
struct Unread;

async fn demo(args: &Args) -> anyhow::Result<()> {
    let stop = serve::stopped().context("cannot wait for signals")?;
    tokio::pin!(stop);
    let listener = listen(args.port).await?;
    let address = listener.local_addr()?;
    say("Foresail demo: one day of an inference service, on 16 simulated H100 GPUs on two nodes.")?;
    say(&format!(
        "A replica serves {} requests/s on one GPU and takes {} s to start. An HPA and fixed",
        REPLICA.capacity, REPLICA.startup
    ))?;
    say("peak capacity get the same requests beside it. Nothing outside this process is touched.")?;
    say(&format!(
        "Page: http://{address}   metrics of the simulated GPUs: http://{address}/metrics"
    ))?;
    say("loading 7 days of history ...")?;
    let shown = Arc::new(Mutex::new(serve::Shown::default()));
    let server = tokio::spawn(serve::serve(listener, shown.clone()));
    // Building the past and each step are pure arithmetic: on a blocking thread the page stays alive.
    let seed = args.seed;
    let mut demo = tokio::select! {
        demo = tokio::task::spawn_blocking(move || Demo::new(seed)) => demo??,
        () = &mut stop => {
            say("stopped before the day began")?;
            return Ok(());
        }
    };
    say(&format!("the day begins; it takes {} s\n", args.length))?;
    let started = Instant::now();
    let whole = Duration::from_secs(args.length.unsigned_abs());
    for step in 0..STEPS {
        let due = whole.mul_f64(f64::from(step + 1) / f64::from(STEPS));
        let advanced = tokio::task::spawn_blocking(move || {
            let lines = demo.step();
            (demo, lines)
        });
        let (back, lines) = advanced.await?;
        demo = back;
        for line in lines? {
            say(&line)?;
        }
        demo.show(&mut shown.lock().unwrap_or_else(PoisonError::into_inner));
        let wait = due.saturating_sub(started.elapsed());
        tokio::select! {
            () = tokio::time::sleep(wait), if !wait.is_zero() => {}
            () = &mut stop => {
                say("\nstopped; the score so far:")?;
                break;
            }
            () = std::future::ready(()), if wait.is_zero() => {}
        }
    }
    say(&demo.summary())?;
    server.abort();
    Ok(())
}

/// The listener of the page: the port asked for and no other, else 8090, else any.
async fn listen(port: Option<u16>) -> anyhow::Result<TcpListener> {
    let bind = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    match port {
        Some(port) => bind(port).await.with_context(|| {
            format!("port {port} cannot be used (--port); without it a free one is taken")
        }),
        None => match bind(PORT).await {
            Ok(listener) => Ok(listener),
            Err(_) => match bind(0).await {
                Ok(listener) => Ok(listener),
                Err(error) => bail!("no port on 127.0.0.1 can be used: {error}"),
            },
        },
    }
}

/// One line at once, also into a pipe.
fn say(line: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Err(Unread.into()),
        result => result.context("standard output cannot be written"),
    }
}
