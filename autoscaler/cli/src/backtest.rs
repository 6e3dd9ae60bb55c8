//! `foresail backtest`: forecasts recorded load from past origins, as the controller would have, and
//! scores it against what came. Reads CSV files, writes CSV, a table and a plot; decides nothing.

pub(crate) mod input;
mod plot;

use std::path::{Path, PathBuf};

use anyhow::bail;
use autoscaler_core::{
    forecast::{
        Forecast, Rung,
        backtest::{Plan, Score, at_origin},
    },
    series::Series,
    units::{Level, Timestamp},
};

use crate::{
    duration, file,
    words::{self, Usage},
};

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
    #[arg(long, default_value = "60m", value_parser = horizon)]
    horizon: i64,
    /// Quantile levels, rising
    #[arg(long, default_value = ".05,.5,.9,.95", value_delimiter = ',', value_parser = level)]
    levels: Vec<Level>,
    /// The highest rung of the ladder to use
    #[arg(long, value_enum, default_value = "mixture")]
    model: Model,
    /// IANA zone whose days the load follows
    #[arg(long, default_value = "UTC", value_parser = zone)]
    time_zone: jiff::tz::TimeZone,
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
    /// Regression mixed with boosted trees, fitted at every origin
    Mixture,
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
            Self::Mixture => Rung::Mixture,
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

fn horizon(text: &str) -> Result<i64, String> {
    let seconds = duration::parse(text)?;
    if seconds > 3600 {
        return Err(format!(
            "'{text}' is too far ahead; a horizon is at most 1h"
        ));
    }
    Ok(seconds)
}

fn zone(text: &str) -> Result<jiff::tz::TimeZone, String> {
    let wrong = |_| {
        format!(
            "{} is no IANA zone; Europe/Berlin is one",
            words::quoted(text)
        )
    };
    jiff::tz::TimeZone::get(text).map_err(wrong)
}

/// One file with the origins to forecast from.
struct Case {
    name: String,
    series: Series,
    origins: Vec<Timestamp>,
}

/// Runs the command. All input is read before anything is computed, all is computed before a file is
/// written.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let rising = |pair: &[Level]| pair[0].get() < pair[1].get();
    if !args.levels.windows(2).all(rising) {
        bail!(Usage(
            "--levels must rise, for example .05,.5,.9,.95".to_owned()
        ));
    }
    outputs(args)?;
    let cases = cases(args)?;
    let plan = Plan {
        history: args.history,
        horizon: args.horizon,
        levels: args.levels.clone(),
        highest: args.model.highest(),
        time_zone: args.time_zone.clone(),
    };
    let mut output = csv::Writer::from_writer(Vec::new());
    output.write_record(["series", "origin", "target", "level", "value"])?;
    words::tell(format_args!(
        "{:<28} {:>8} {:>15} {:>8} {:>8} {:>9}",
        "series", "origins", "rung", "WQL", "rMASE", "coverage"
    ));
    for case in &cases {
        let forecasts = forecasts(case, &plan);
        if forecasts.is_empty() {
            bail!(
                "{}: nothing can be forecast at {} origin(s): each needs ten minutes of history before it",
                case.name,
                case.origins.len()
            );
        }
        write_forecasts(&mut output, &case.name, &forecasts)?;
        summary(case, &forecasts, &plan);
    }
    if let Some(path) = &args.output {
        file::write(path, &output.into_inner()?)?;
    }
    if let (Some(path), Some(case)) = (&args.plot, cases.first()) {
        let svg = plot::day(&case.name, &case.series, &plan);
        file::write(path, svg.as_bytes())?;
    }
    Ok(())
}

/// Refuses outputs that cannot be written, or would destroy an input or each other.
fn outputs(args: &Args) -> anyhow::Result<()> {
    let mut taken: Vec<&Path> = args
        .files
        .iter()
        .chain(&args.origins)
        .map(PathBuf::as_path)
        .collect();
    for (flag, path) in [("--output", &args.output), ("--plot", &args.plot)] {
        let Some(path) = path else { continue };
        if flag == "--plot" && args.output.as_ref() == Some(path) {
            bail!(Usage("--plot and --output name the same file".to_owned()));
        }
        file::writable(flag, path, &taken)?;
        taken.push(path);
    }
    Ok(())
}

/// Every file with its origins.
fn cases(args: &Args) -> anyhow::Result<Vec<Case>> {
    let given = args.origins.as_deref().map(input::origins).transpose()?;
    let mut cases: Vec<Case> = Vec::new();
    for path in &args.files {
        let (name, series) = input::series(path)?;
        let shown = path.display();
        if series.step > args.horizon {
            bail!(
                "{shown}: its step of {} s is longer than the horizon of {} s",
                series.step,
                args.horizon
            );
        }
        if cases.iter().any(|case| case.name == name) {
            bail!("{shown}: a series named '{name}' is given twice; names are the files' own");
        }
        let origins = match &given {
            Some(given) => given.get(&name).cloned().unwrap_or_default(),
            None => hourly(&series, args.horizon),
        };
        if origins.is_empty() {
            bail!(
                "{shown}: no origin: the series is too short, or --origins does not name '{name}'"
            );
        }
        cases.push(Case {
            name,
            series,
            origins,
        });
    }
    Ok(cases)
}

/// Every hour of the last two days that leaves a horizon of truth behind it.
fn hourly(series: &Series, horizon: i64) -> Vec<Timestamp> {
    let last = series.end().plus(-horizon);
    let first = last.plus(-2 * 86_400).max(series.start.plus(3600));
    let hours = last.since(first).div_euclid(3600);
    (0..=hours).map(|hour| first.plus(hour * 3600)).collect()
}

/// Forecasts at all origins, on two threads, with progress where a person looks on.
fn forecasts(case: &Case, plan: &Plan) -> Vec<Forecast> {
    use std::io::{IsTerminal, Write as _};
    let shown = std::io::stderr().is_terminal();
    let done = std::sync::atomic::AtomicUsize::new(0);
    let (name, all) = (&case.name, case.origins.len());
    let part = all.div_ceil(2).max(1);
    let work = |origins: &[Timestamp]| -> Vec<Forecast> {
        let mut forecasts = Vec::new();
        for origin in origins {
            forecasts.extend(at_origin(&case.series, *origin, plan));
            let count = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            if shown {
                // Progress that cannot be shown is no fault of the forecast.
                let _ = write!(
                    std::io::stderr(),
                    "\r{name}: origin {count} of {all}\x1b[K\r"
                );
            }
        }
        forecasts
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (case.origins.chunks(part))
            .map(|part| scope.spawn(move || work(part)))
            .collect();
        // A panic goes on: half a result would look like a whole one.
        let join = |thread: std::thread::ScopedJoinHandle<'_, Vec<Forecast>>| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().flat_map(join).collect()
    })
}

fn write_forecasts(
    output: &mut csv::Writer<Vec<u8>>,
    name: &str,
    forecasts: &[Forecast],
) -> csv::Result<()> {
    for forecast in forecasts {
        let mut target = forecast.origin;
        for row in &forecast.values {
            for (level, value) in forecast.levels.iter().zip(row) {
                let numbers = [
                    forecast.origin.0.to_string(),
                    target.0.to_string(),
                    level.get().to_string(),
                    value.to_string(),
                ];
                output.write_field(name)?;
                output.write_record(&numbers)?;
            }
            target = target.plus(forecast.step);
        }
    }
    Ok(())
}

/// One row of the table: the scores beside those of the seasonal naive on the same origins.
fn summary(case: &Case, forecasts: &[Forecast], plan: &Plan) {
    let (name, series) = (&case.name, &case.series);
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
    words::tell(format_args!(
        "{name:<28} {:>8} {rung:>15} {:>8} {:>8} {:>9}",
        score.origins,
        show(score.wql()),
        show(relative.map(|(own, naive)| own / naive)),
        show(score.coverage()),
    ));
}
