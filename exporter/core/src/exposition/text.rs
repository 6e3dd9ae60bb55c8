//! The writer of the text format in DCGM's dialect: whole numbers plain, DCGM's doubles with six
//! decimals, labels in the catalogue's order. Unlike older dcgm-exporters it escapes label values.

use std::fmt::Write;

use super::Sample;
use crate::{collect::Family, contract::Heading};

/// A number and how it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A whole number, plain.
    Whole(u64),
    /// A double with six decimals, as DCGM writes them.
    Fixed(f64),
    /// A double in its shortest exact form.
    Exact(f64),
}

/// The content type of the format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The families as one exposition, each with HELP and TYPE.
pub fn render(families: &[Family]) -> String {
    let mut text = String::new();
    for family in families {
        header(&mut text, &family.heading);
        for series in &family.series {
            text.push_str(family.heading.name);
            text.push_str(series.suffix);
            labels(
                &mut text,
                series
                    .labels
                    .iter()
                    .map(|(name, value)| (*name, value.as_str())),
            );
            text.push(' ');
            write_value(&mut text, series.value);
            text.push('\n');
        }
    }
    text
}

/// Bare samples as one exposition: neither HELP nor TYPE.
pub fn render_samples(samples: &[Sample]) -> String {
    let mut text = String::new();
    for sample in samples {
        text.push_str(&sample.name);
        let pairs = sample.labels.iter();
        labels(
            &mut text,
            pairs.map(|(name, value)| (name.as_str(), value.as_str())),
        );
        text.push(' ');
        write_value(&mut text, Value::Exact(sample.value));
        if let Some(timestamp) = sample.timestamp {
            let _ = write!(text, " {timestamp}");
        }
        text.push('\n');
    }
    text
}

fn header(text: &mut String, heading: &Heading) {
    let help = heading.help.replace('\\', "\\\\").replace('\n', "\\n");
    let _ = writeln!(text, "# HELP {} {help}", heading.name);
    let _ = writeln!(text, "# TYPE {} {}", heading.name, heading.kind);
}

fn labels<'a>(text: &mut String, pairs: impl Iterator<Item = (&'a str, &'a str)>) {
    let mut open = false;
    for (name, value) in pairs {
        text.push(if open { ',' } else { '{' });
        open = true;
        text.push_str(name);
        text.push_str("=\"");
        for letter in value.chars() {
            match letter {
                '\\' => text.push_str("\\\\"),
                '"' => text.push_str("\\\""),
                '\n' => text.push_str("\\n"),
                other => text.push(other),
            }
        }
        text.push('"');
    }
    if open {
        text.push('}');
    }
}

fn write_value(text: &mut String, value: Value) {
    let _ = match value {
        Value::Whole(number) => write!(text, "{number}"),
        Value::Fixed(number) if number.is_finite() => write!(text, "{number:.6}"),
        Value::Fixed(number) | Value::Exact(number) => {
            if number.is_nan() {
                write!(text, "NaN")
            } else if number.is_infinite() {
                write!(text, "{}Inf", if number > 0.0 { '+' } else { '-' })
            } else if number != 0.0 && !(1e-6..1e15).contains(&number.abs()) {
                write!(text, "{number:e}")
            } else {
                write!(text, "{number}")
            }
        }
    };
}
