//! YAML into a type, and what is wrong with it in one line for a person: line, key, what would be right. Never names
//! a type of this program.

use serde::de::DeserializeOwned;
use serde_yaml::Error;

/// What belongs at a key: its name, and the value in words with an example.
pub(crate) type Rights = [(&'static str, &'static str)];

/// Reads `text`, whose keys hold what `rights` says. The error is one line without the file's name.
pub(crate) fn parse<T: DeserializeOwned>(text: &str, rights: &Rights) -> Result<T, String> {
    let mut key = String::new();
    let parsed = serde_yaml::with_deserializer_from_str(text, |yaml| {
        serde_path_to_error::deserialize(yaml).map_err(|error| {
            key = error.path().to_string();
            error.into_inner()
        })
    });
    parsed.map_err(|error| explain(&error, &key, rights))
}

fn explain(error: &Error, key: &str, rights: &Rights) -> String {
    let line = error.location().map(|place| place.line());
    let line = line.filter(|line| *line > 0);
    let place = line.map_or_else(String::new, |line| format!("line {line}: "));
    let right = right(key, rights);
    let at = if key == "." {
        String::new()
    } else {
        format!("{key}: ")
    };
    match error.without_snippet() {
        Error::SerdeUnknownField {
            field, expected, ..
        } => {
            let parent = key.rsplit_once('.').map(|(parent, _)| parent);
            let at = parent.map_or_else(String::new, |parent| format!("{parent}: "));
            let known = expected.join(", ");
            format!("{place}{at}unknown key {field:?}; known are {known}")
        }
        Error::SerdeMissingField { field, .. } => {
            let right = self::right(field, rights);
            format!("{place}{at}the key {field:?} is missing; write {right}")
        }
        Error::SerdeInvalidType { unexpected, .. }
        | Error::SerdeInvalidValue { unexpected, .. } => {
            format!(
                "{place}{at}{} stands here; write {right}",
                words(unexpected)
            )
        }
        Error::DuplicateMappingKey {
            key: Some(twice), ..
        } => {
            format!("{place}the key {twice:?} stands twice; keep one")
        }
        Error::MultipleDocuments { .. } => {
            format!("{place}one document is read; remove the line --- and what follows")
        }
        Error::Unexpected { .. }
        | Error::InvalidScalar { .. }
        | Error::NullIntoString { .. }
        | Error::UnexpectedSequenceEnd { .. }
        | Error::UnexpectedMappingEnd { .. } => {
            format!("{place}{at}what stands here is not {right}")
        }
        other => {
            let message = other.to_string();
            let message = message.lines().next().unwrap_or_default().trim();
            let message = message.strip_prefix("error: ").unwrap_or(message);
            format!("{place}not YAML: {message}")
        }
    }
}

/// What belongs at `key`, by its last name: `servers[0].url` is a `url`, `servers[0]` one of `servers[]`.
fn right<'a>(key: &str, rights: &'a Rights) -> &'a str {
    let name = key.rsplit('.').next().unwrap_or(key);
    let name = match name.split_once('[') {
        Some((list, _)) => format!("{list}[]"),
        None => name.to_string(),
    };
    let found = rights.iter().find(|(known, _)| *known == name);
    found.map_or("what the documentation says", |(_, right)| *right)
}

/// What was found, as serde names it, in words.
fn words(unexpected: &str) -> String {
    match unexpected {
        "map" => "a map".into(),
        "sequence" => "a list".into(),
        "unit value" | "Option value" => "nothing".into(),
        text => match text.strip_prefix("string ") {
            Some(text) => format!("the text {text}"),
            None => text.into(),
        },
    }
}
