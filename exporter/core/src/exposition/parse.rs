//! The reader of the text format: any bytes in, samples or one clear error out; it never panics and
//! never guesses. Comments, HELP and TYPE are skipped.

use std::collections::BTreeMap;

use super::{Sample, is_label_name, is_metric_name};

/// Where an exposition stops being one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ParseError {
    /// Line number, from 1.
    pub line: usize,
    /// What is wrong and what would be right.
    pub message: String,
}

/// All samples of `text`, in its order.
pub fn parse(text: &str) -> Result<Vec<Sample>, ParseError> {
    let mut samples = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        let line = line.trim_matches([' ', '\t', '\r']);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        samples.push(sample(line).map_err(|message| ParseError {
            line: index + 1,
            message,
        })?);
    }
    Ok(samples)
}

fn sample(line: &str) -> Result<Sample, String> {
    let end = line.find(['{', ' ', '\t']).unwrap_or(line.len());
    let (name, mut rest) = line.split_at(end);
    if !is_metric_name(name) {
        return Err(format!(
            "{:?} is not a metric name (letters, digits, _ and :)",
            shorten(name)
        ));
    }
    rest = rest.trim_start_matches([' ', '\t']);
    let mut labels = BTreeMap::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = read_labels(inner, &mut labels)?;
    }
    let mut words = rest.split_ascii_whitespace();
    let value = words.next().ok_or_else(|| format!("{name} has no value"))?;
    let value = number(value)
        .ok_or_else(|| format!("value {:?} of {name} is not a number", shorten(value)))?;
    let timestamp = match words.next() {
        None => None,
        Some(word) => Some(word.parse().map_err(|_| {
            let word = shorten(word);
            format!("timestamp {word:?} of {name} is not whole milliseconds")
        })?),
    };
    if words.next().is_some() {
        return Err(format!("text after the timestamp of {name}"));
    }
    Ok(Sample {
        name: name.into(),
        labels,
        value,
        timestamp,
    })
}

/// Go's spelling of numbers, as Prometheus reads them; also the one of C, since llama.cpp writes `-nan`.
fn number(word: &str) -> Option<f64> {
    match word.to_ascii_lowercase().as_str() {
        "+inf" | "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        "nan" | "-nan" => Some(f64::NAN),
        _ if word
            .chars()
            .all(|c| c.is_ascii_digit() || "+-.eE".contains(c)) =>
        {
            word.parse().ok()
        }
        _ => None,
    }
}

/// Reads up to and with the closing brace; the rest of the line is returned.
fn read_labels<'a>(
    mut rest: &'a str,
    labels: &mut BTreeMap<String, String>,
) -> Result<&'a str, String> {
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if let Some(after) = rest.strip_prefix('}') {
            return Ok(after);
        }
        let Some((name, after)) = rest.split_once('=') else {
            return Err("the labels are not closed by }".into());
        };
        let name = name.trim_matches([' ', '\t']);
        if !is_label_name(name) {
            let name = shorten(name);
            return Err(format!(
                "{name:?} is not a label name (letters, digits and _)"
            ));
        }
        let after = after.trim_start_matches([' ', '\t']);
        let Some(quoted) = after.strip_prefix('"') else {
            return Err(format!("the value of label {name} does not start with \""));
        };
        let (value, after) = read_value(quoted, name)?;
        if labels.insert(name.into(), value).is_some() {
            return Err(format!("label {name} stands twice"));
        }
        rest = after.trim_start_matches([' ', '\t']);
        match rest.strip_prefix(',') {
            Some(after) => rest = after,
            None if rest.starts_with('}') => {}
            None => return Err(format!("neither , nor }} after label {name}")),
        }
    }
}

/// Reads up to and with the closing quote.
fn read_value<'a>(text: &'a str, name: &str) -> Result<(String, &'a str), String> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Ok((value, &text[at + 1..])),
            '\\' => match letters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, '\\')) => value.push('\\'),
                Some((_, '"')) => value.push('"'),
                _ => {
                    return Err(format!(
                        "label {name} has a \\ that is not followed by \\, \" or n"
                    ));
                }
            },
            other => value.push(other),
        }
    }
    Err(format!("the value of label {name} is not closed by \""))
}

/// The first letters, so that an error stays one short line whatever was sent.
fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests;
