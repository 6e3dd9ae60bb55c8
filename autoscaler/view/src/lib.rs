//! What was seen and decided as a page for people: HTML with inline SVG, no script. Text from outside is
//! escaped here and nowhere else. Never reads a clock, never decides.

mod chart;
mod gpu_map;
mod style;

use std::fmt::Write as _;

use autoscaler_core::{snapshot::Node, units::Timestamp};

pub use chart::Point;

/// Everything on a page.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The heading.
    pub title: String,
    /// One line under it.
    pub subtitle: String,
    /// Seconds until the browser asks again; absent when nothing will change.
    pub refresh: Option<u32>,
    /// One entry a target.
    pub targets: Vec<Target>,
    /// GPUs by node.
    pub nodes: Vec<Node>,
    /// The last changes, newest first.
    pub changes: Vec<Change>,
    /// Rows of a table of scores, the first its head; empty when there is none.
    pub scores: Vec<Vec<String>>,
}

/// A target's charts.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// `namespace/name`.
    pub name: String,
    /// The newest decision in words.
    pub sentence: String,
    /// Load in requests per second.
    pub load: Vec<Point>,
    /// Forecast: time for which it was made, median, and the quantile provided for.
    pub forecast: Vec<(Timestamp, f64, f64)>,
    /// Replicas asked for and Ready.
    pub replicas: Vec<(Timestamp, u32, u32)>,
    /// Replicas of a rival on the same load, with its name.
    pub rival: Option<(String, Vec<(Timestamp, u32)>)>,
}

/// One change of replicas.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// When, for people.
    pub time: String,
    /// Which target.
    pub target: String,
    /// The decision in words.
    pub sentence: String,
}

/// The page as HTML.
pub fn page(page: &Page) -> String {
    let mut html =
        String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">";
    // Writing to a String cannot fail.
    if let Some(seconds) = page.refresh {
        let _ = write!(html, "<meta http-equiv=\"refresh\" content=\"{seconds}\">");
    }
    let _ = write!(
        html,
        "<title>{}</title><style>{}</style></head><body>",
        escape(&page.title),
        style::CSS
    );
    let _ = write!(
        html,
        "<header><h1>{}</h1><p>{}</p></header><main>",
        escape(&page.title),
        escape(&page.subtitle)
    );
    if page.targets.is_empty() {
        html += "<section><p>No target yet: create an InferenceScaler and it appears here.</p></section>";
    }
    for target in &page.targets {
        section(&mut html, target);
    }
    if !page.scores.is_empty() {
        table(&mut html, &page.scores);
    }
    if !page.nodes.is_empty() {
        gpu_map::write(&mut html, &page.nodes);
    }
    changes(&mut html, &page.changes);
    html += "</main></body></html>\n";
    html
}

fn section(html: &mut String, target: &Target) {
    let _ = write!(html, "<section><h2>{}</h2>", escape(&target.name));
    if !target.sentence.is_empty() {
        let _ = write!(html, "<p class=\"now\">{}</p>", escape(&target.sentence));
    }
    html.push_str("<div class=\"charts\">");
    chart::load(html, target);
    chart::replicas(html, target);
    html.push_str("</div></section>");
}

fn table(html: &mut String, rows: &[Vec<String>]) {
    html.push_str("<section><h2>Score so far</h2><div class=\"wide\"><table>");
    for (index, row) in rows.iter().enumerate() {
        html.push_str("<tr>");
        let tag = if index == 0 { "th" } else { "td" };
        for cell in row {
            let _ = write!(html, "<{tag}>{}</{tag}>", escape(cell));
        }
        html.push_str("</tr>");
    }
    html.push_str("</table></div></section>");
}

fn changes(html: &mut String, changes: &[Change]) {
    html.push_str("<section><h2>Last changes</h2>");
    if changes.is_empty() {
        html.push_str("<p>None so far.</p></section>");
        return;
    }
    html.push_str("<ol class=\"changes\">");
    for change in changes {
        let (time, target) = (escape(&change.time), escape(&change.target));
        let _ = write!(
            html,
            "<li><time>{time}</time> <b>{target}</b> {}</li>",
            escape(&change.sentence)
        );
    }
    html.push_str("</ol></section>");
}

/// Text as it may stand in HTML, also inside quotes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
