//! Two charts of a target: load with its forecast band, and replicas. Every chart has a title and a
//! description for those who do not see it.

use std::fmt::Write as _;

use autoscaler_core::units::Timestamp;

use crate::{Target, escape};

/// A value at a time.
pub type Point = (Timestamp, f64);

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 46.0;
const BOTTOM: f64 = 28.0;
const TOP: f64 = 10.0;

/// Where times and values stand on a chart.
struct Frame {
    from: Timestamp,
    until: Timestamp,
    peak: f64,
}

impl Frame {
    fn around(
        times: impl Iterator<Item = Timestamp>,
        values: impl Iterator<Item = f64>,
    ) -> Option<Self> {
        let (mut from, mut until) = (None, None);
        for time in times {
            from = Some(from.map_or(time, |from: Timestamp| from.min(time)));
            until = Some(until.map_or(time, |until: Timestamp| until.max(time)));
        }
        let peak = values.filter(|value| value.is_finite()).fold(1.0, f64::max);
        Some(Self {
            from: from?,
            until: until?,
            peak: peak * 1.05,
        })
    }

    fn x(&self, time: Timestamp) -> f64 {
        let span = self.until.since(self.from).max(1) as f64;
        LEFT + time.since(self.from) as f64 / span * (WIDTH - LEFT - 8.0)
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value / self.peak).clamp(0.0, 1.0);
        HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)
    }

    /// Points of a line, as they stand in an attribute.
    fn line(&self, points: impl Iterator<Item = Point>) -> String {
        points.fold(String::new(), |mut text, (time, value)| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{:.1},{:.1} ", self.x(time), self.y(value));
            text
        })
    }

    /// Points of a line that holds each value until the next.
    fn steps(&self, points: &[(Timestamp, u32)]) -> String {
        let mut text = String::new();
        let mut last = None;
        for (time, value) in points {
            let y = self.y(f64::from(*value));
            if let Some(before) = last {
                let _ = write!(text, "{:.1},{before:.1} ", self.x(*time));
            }
            let _ = write!(text, "{:.1},{y:.1} ", self.x(*time));
            last = Some(y);
        }
        text
    }

    /// Opens the drawing with grid and axes.
    fn open(&self, html: &mut String, title: &str, description: &str) {
        let _ = write!(
            html,
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\"><title>{}</title><desc>{}</desc>",
            escape(title),
            escape(description)
        );
        for share in [0.0, 0.5, 1.0] {
            let (value, y) = (self.peak / 1.05 * share, self.y(self.peak / 1.05 * share));
            let _ = write!(
                html,
                "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"var(--line)\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                y + 4.0,
                short(value)
            );
        }
        for (share, anchor) in [(0.0, "start"), (0.5, "middle"), (1.0, "end")] {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a share of a span of seconds"
            )]
            let time = self
                .from
                .plus((self.until.since(self.from) as f64 * share) as i64);
            let _ = write!(
                html,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
                self.x(time),
                HEIGHT - 6.0,
                clock(time)
            );
        }
    }
}

/// A number in few characters.
fn short(value: f64) -> String {
    if value >= 10_000.0 {
        format!("{:.0}k", value / 1000.0)
    } else if value >= 10.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

/// Hours and minutes, UTC.
fn clock(time: Timestamp) -> String {
    let minutes = time.0.div_euclid(60).rem_euclid(1440);
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// The load and what was forecast for each moment.
pub(crate) fn load(html: &mut String, target: &Target) {
    let newest = target.load.last().map(|(time, _)| *time);
    let times = target
        .load
        .iter()
        .map(|(time, _)| *time)
        .chain(target.forecast.iter().map(|(time, _, _)| *time));
    let values = target
        .load
        .iter()
        .map(|(_, value)| *value)
        .chain(target.forecast.iter().map(|(_, _, high)| *high));
    let (Some(frame), Some(_)) = (Frame::around(times, values), newest) else {
        html.push_str("<figure><figcaption>Load: no data yet.</figcaption></figure>");
        return;
    };
    html.push_str("<figure>");
    let highest = target
        .load
        .iter()
        .map(|(_, value)| *value)
        .fold(0.0, f64::max);
    let now = target.load.last().map_or(0.0, |(_, value)| *value);
    let description =
        format!("now {now:.1} requests per second, at most {highest:.1} in the time shown");
    frame.open(
        html,
        &format!("Load of {} with its forecast", target.name),
        &description,
    );
    let upper = frame.line(target.forecast.iter().map(|(time, _, high)| (*time, *high)));
    let lower = frame.line(
        target
            .forecast
            .iter()
            .rev()
            .map(|(time, median, _)| (*time, *median)),
    );
    let load = frame.line(target.load.iter().copied());
    let _ = write!(
        html,
        "<polygon points=\"{upper}{lower}\" fill=\"var(--band)\" fill-opacity=\".55\"/><polyline points=\"{load}\" fill=\"none\" stroke=\"var(--load)\" stroke-width=\"1.6\"/></svg>"
    );
    html.push_str("<figcaption><span class=\"key\" style=\"background:var(--load)\"></span>load, requests per second<span class=\"key\" style=\"background:var(--band)\"></span>forecast made one horizon before: median to the quantile provided for</figcaption></figure>");
}

/// Replicas asked for and Ready, and a rival's.
pub(crate) fn replicas(html: &mut String, target: &Target) {
    let times = target.replicas.iter().map(|(time, _, _)| *time);
    let rival = target.rival.as_ref();
    let most = target
        .replicas
        .iter()
        .map(|(_, want, ready)| f64::from(*want.max(ready)));
    let rivals = rival
        .iter()
        .flat_map(|(_, points)| points.iter().map(|(_, want)| f64::from(*want)));
    let Some(frame) = Frame::around(times, most.chain(rivals)) else {
        html.push_str("<figure><figcaption>Replicas: no decision yet.</figcaption></figure>");
        return;
    };
    let (want, ready) = target
        .replicas
        .last()
        .map_or((0, 0), |(_, want, ready)| (*want, *ready));
    html.push_str("<figure>");
    let description = format!("{want} replicas are asked for, {ready} are Ready");
    frame.open(html, &format!("Replicas of {}", target.name), &description);
    if let Some((_, points)) = rival {
        let _ = write!(
            html,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"var(--rival)\" stroke-width=\"1.4\" stroke-dasharray=\"5 3\"/>",
            frame.steps(points)
        );
    }
    let column = |pick: fn(&(Timestamp, u32, u32)) -> u32| -> Vec<(Timestamp, u32)> {
        target
            .replicas
            .iter()
            .map(|point| (point.0, pick(point)))
            .collect()
    };
    let (wanted, ready) = (column(|point| point.1), column(|point| point.2));
    let _ = write!(
        html,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"var(--ready)\" stroke-width=\"1.6\"/><polyline points=\"{}\" fill=\"none\" stroke=\"var(--want)\" stroke-width=\"1.6\"/></svg>",
        frame.steps(&ready),
        frame.steps(&wanted)
    );
    html.push_str("<figcaption><span class=\"key\" style=\"background:var(--want)\"></span>replicas asked for<span class=\"key\" style=\"background:var(--ready)\"></span>Ready");
    if let Some((name, _)) = rival {
        let _ = write!(
            html,
            "<span class=\"key\" style=\"background:var(--rival)\"></span>{}",
            escape(name)
        );
    }
    html.push_str("</figcaption></figure>");
}
