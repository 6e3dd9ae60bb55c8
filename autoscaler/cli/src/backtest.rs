//! `foresail backtest`: forecasts recorded load from past origins, as the controller would have, and
//! scores it against what came. Reads CSV files, writes CSV, a table and a plot; decides nothing.

mod input;
mod plot;

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use autoscaler_core::{
    forecast::{
        Forecast, Rung,
        backtest::{Plan, Score, at_origin},
    },
    series::Series,
    units::{Level, Timestamp},
};

use crate::duration;

/// Arguments of `foresail backtest`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// CSV files with the header `timestamp,value`: unix seconds at the start of the step; a missing row is a gap
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// CSV file with the columns `series` and `origin`; by default every hour of the last two days
    #[arg(long, value_name = "FILE")]
    origins: Option<PathBuf>,
    /// How much history each origin sees
    #[arg(long, default_value = "7d", value_parser = duration::parse)]
    history: i64,
    /// How far ahead, at most 1h
    #[arg(long, default_value = "60m", value_parser = duration::parse)]
    horizon: i64,
    /// Quantile levels, rising
    #[arg(long, default_value = ".05,.5,.9,.95", value_delimiter = ',', value_parser = level)]
    levels: Vec<Level>,
    /// The highest rung of the ladder to use
    #[arg(long, value_enum, default_value = "regression")]
    model: Model,
    /// IANA zone whose days the load follows
    #[arg(long, default_value = "UTC")]
    time_zone: String,
    /// Writes every forecast as CSV `series,origin,target,level,value`
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Draws the last day of the first file with its band one horizon ahead, as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// `--model`.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Model {
    /// Direct regression with the daily features
    Regression,
    /// Direct regression without them
    ShortRegression,
    /// The same time yesterday
    SeasonalNaive,
    /// The recent level
    Level,
}

impl Model {
    fn highest(self) -> Rung {
        match self {
            Self::Regression => Rung::Regression,
            Self::ShortRegression => Rung::ShortRegression,
            Self::SeasonalNaive => Rung::SeasonalNaive,
            Self::Level => Rung::Level,
        }
    }
}

fn level(text: &str) -> Result<Level, String> {
    let number: f64 = text
        .trim()
        .parse()
        .map_err(|_| format!("'{text}' is no number between 0 and 1"))?;
    Level::try_from(number)
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if args.horizon > 3600 {
        bail!("--horizon is at most 1h, not {} s", args.horizon);
    }
    if !args
        .levels
        .is_sorted_by(|left, right| left.get() < right.get())
    {
        bail!("--levels must rise, for example .05,.5,.9,.95");
    }
    let time_zone = jiff::tz::TimeZone::get(&args.time_zone).with_context(|| {
        format!(
            "--time-zone: '{}' is no IANA zone; Europe/Berlin is one",
            args.time_zone
        )
    })?;
    let given = args.origins.as_deref().map(input::origins).transpose()?;
    let plan = Plan {
        history: args.history,
        horizon: args.horizon,
        levels: args.levels.clone(),
        highest: args.model.highest(),
        time_zone,
    };
    let mut output = args.output.as_deref().map(create).transpose()?;
    if let Some(output) = &mut output {
        writeln!(output, "series,origin,target,level,value")?;
    }
    eprintln!(
        "{:<28} {:>8} {:>15} {:>8} {:>8} {:>9}",
        "series", "origins", "rung", "WQL", "rMASE", "coverage"
    );
    for file in &args.files {
        let (name, series) = input::series(file)?;
        let origins = match &given {
            Some(given) => given.get(&name).cloned().unwrap_or_default(),
            None => hourly(&series, args.horizon),
        };
        if origins.is_empty() {
            bail!(
                "{}: no origin: the series is too short, or --origins does not name '{name}'",
                file.display()
            );
        }
        let forecasts = forecasts(&name, &series, &origins, &plan);
        if let Some(output) = &mut output {
            write_forecasts(output, &name, &forecasts)?;
        }
        summary(&name, &series, &forecasts, &plan);
    }
    if let Some(mut output) = output {
        output.flush().context("--output")?;
    }
    if let Some(path) = &args.plot {
        let (name, series) = input::series(&args.files[0])?;
        let svg = plot::day(&name, &series, &plan);
        create(path)?
            .write_all(svg.as_bytes())
            .with_context(|| path.display().to_string())?;
    }
    Ok(())
}

fn create(path: &Path) -> anyhow::Result<std::io::BufWriter<std::fs::File>> {
    let file =
        std::fs::File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(std::io::BufWriter::new(file))
}

/// Every hour of the last two days that leaves a horizon of truth behind it.
fn hourly(series: &Series, horizon: i64) -> Vec<Timestamp> {
    let last = series.end().plus(-horizon);
    let first = last.plus(-2 * 86_400).max(series.start.plus(3600));
    let hours = last.since(first).div_euclid(3600);
    (0..=hours).map(|hour| first.plus(hour * 3600)).collect()
}

/// Forecasts at all origins, on two threads, with progress where a person looks on.
fn forecasts(name: &str, series: &Series, origins: &[Timestamp], plan: &Plan) -> Vec<Forecast> {
    use std::io::IsTerminal;
    let shown = std::io::stderr().is_terminal();
    let done = std::sync::atomic::AtomicUsize::new(0);
    let part = origins.len().div_ceil(2).max(1);
    let work = |origins: &[Timestamp]| -> Vec<Forecast> {
        let mut forecasts = Vec::new();
        for origin in origins {
            forecasts.extend(at_origin(series, *origin, plan));
            let count = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            if shown {
                eprint!("\r{name}: origin {count}\x1b[K\r");
            }
        }
        forecasts
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = origins
            .chunks(part)
            .map(|part| scope.spawn(move || work(part)))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap_or_default())
            .collect()
    })
}

fn write_forecasts(
    output: &mut impl Write,
    name: &str,
    forecasts: &[Forecast],
) -> anyhow::Result<()> {
    for forecast in forecasts {
        let mut target = forecast.origin;
        for row in &forecast.values {
            for (level, value) in forecast.levels.iter().zip(row) {
                writeln!(
                    output,
                    "{name},{},{},{},{value}",
                    forecast.origin.0,
                    target.0,
                    level.get()
                )?;
            }
            target = target.plus(forecast.step);
        }
    }
    Ok(())
}

/// One row of the table: the scores beside those of the seasonal naive on the same origins.
fn summary(name: &str, series: &Series, forecasts: &[Forecast], plan: &Plan) {
    let mut score = Score::default();
    let mut naive = Score::default();
    let naive_plan = Plan {
        highest: Rung::SeasonalNaive,
        ..plan.clone()
    };
    for forecast in forecasts {
        score.add(forecast, series);
        if let Some(forecast) = at_origin(series, forecast.origin, &naive_plan) {
            naive.add(&forecast, series);
        }
    }
    let show =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
    let relative = score
        .mean_error()
        .zip(naive.mean_error())
        .filter(|(_, naive)| *naive > 0.0);
    let rung = forecasts
        .last()
        .map_or("Nothing", |forecast| forecast.rung.as_str());
    eprintln!(
        "{name:<28} {:>8} {rung:>15} {:>8} {:>8} {:>9}",
        score.origins,
        show(score.wql()),
        show(relative.map(|(own, naive)| own / naive)),
        show(score.coverage()),
    );
}
