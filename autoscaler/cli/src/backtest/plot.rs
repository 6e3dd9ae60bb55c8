//! A day of load with its forecast band, as SVG. Draws what the backtest computed, decides nothing.

use std::fmt::Write as _;

use autoscaler_core::{
    forecast::backtest::{Plan, at_origin},
    series::Series,
    units::{Level, Timestamp},
};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 320.0;
const MARGIN: f64 = 48.0;

/// The last day of the series; the band is what was forecast one horizon before each moment, refitted
/// every hour.
pub(super) fn day(name: &str, series: &Series, plan: &Plan) -> String {
    let from = series.end().plus(-86_400).max(series.start.plus(3600));
    let levels: Vec<Level> = [0.05, 0.5, 0.95]
        .into_iter()
        .filter_map(Level::new)
        .collect();
    let plan = Plan {
        levels,
        ..plan.clone()
    };
    let mut band: Vec<(Timestamp, Vec<f64>)> = Vec::new();
    let mut origin = from;
    while origin < series.end() {
        if let Some(forecast) = at_origin(series, origin, &plan) {
            let mut time = origin;
            for row in forecast.values {
                band.push((time, row));
                time = time.plus(forecast.step);
            }
        }
        origin = origin.plus(plan.horizon);
    }
    let actual: Vec<(Timestamp, f64)> = series
        .between(from, series.end())
        .iter()
        .enumerate()
        .filter_map(|(index, value)| {
            Some((
                from.plus(i64::try_from(index).ok()? * series.step),
                (*value)?,
            ))
        })
        .collect();
    let peak = band
        .iter()
        .map(|(_, row)| row[2])
        .chain(actual.iter().map(|(_, value)| *value));
    let scale = Scale {
        from,
        until: series.end(),
        peak: peak.fold(1e-9, f64::max),
    };
    draw(name, &scale, &band, &actual, plan.horizon)
}

/// Where a time and a value stand on the sheet.
struct Scale {
    from: Timestamp,
    until: Timestamp,
    peak: f64,
}

impl Scale {
    fn point(&self, time: Timestamp, value: f64) -> String {
        let share = time.since(self.from) as f64 / self.until.since(self.from).max(1) as f64;
        let x = MARGIN + share * (WIDTH - 2.0 * MARGIN);
        let y = HEIGHT - MARGIN - value / self.peak * (HEIGHT - 2.0 * MARGIN);
        format!("{x:.1},{y:.1} ")
    }
}

fn draw(
    name: &str,
    scale: &Scale,
    band: &[(Timestamp, Vec<f64>)],
    actual: &[(Timestamp, f64)],
    horizon: i64,
) -> String {
    let name = name.replace('&', "&amp;").replace('<', "&lt;");
    let line = |column: usize| -> String {
        band.iter()
            .map(|(time, row)| scale.point(*time, row[column]))
            .collect()
    };
    let back: String = band
        .iter()
        .rev()
        .map(|(time, row)| scale.point(*time, row[0]))
        .collect();
    let load: String = actual
        .iter()
        .map(|(time, value)| scale.point(*time, *value))
        .collect();
    let mut svg = String::new();
    // Writing to a String cannot fail.
    let _ = write!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="system-ui,sans-serif" font-size="12">
<title>{name}: load and forecast up to {} min ahead</title>
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="{MARGIN}" y="24" font-size="15" fill="#1f2933">{name}: the load of a day (line) and its 5 % to 95 % forecast band, up to {} min ahead</text>
<polygon points="{}{back}" fill="#9ec5e8" fill-opacity="0.6"/>
<polyline points="{}" fill="none" stroke="#1d6fb8" stroke-width="1.5" stroke-dasharray="4 3"/>
<polyline points="{load}" fill="none" stroke="#1f2933" stroke-width="1.2"/>
<text x="4" y="{}" fill="#52606d">{:.0}</text><text x="4" y="{}" fill="#52606d">0</text>
<text x="{MARGIN}" y="{}" fill="#52606d">{}</text><text x="{}" y="{}" text-anchor="end" fill="#52606d">{}</text>
</svg>
"##,
        horizon / 60,
        horizon / 60,
        line(2),
        line(1),
        MARGIN + 4.0,
        scale.peak,
        HEIGHT - MARGIN,
        HEIGHT - 20.0,
        scale.from,
        WIDTH - MARGIN,
        HEIGHT - 20.0,
        scale.until,
    );
    svg
}
