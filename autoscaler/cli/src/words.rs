//! Words for people: one line, whatever the cause says, and text of others cut to what a line can hold.
//! Never panics when nobody can read it.

use std::{fmt, io::Write as _};

/// Characters of a foreign text that a message repeats at most.
const QUOTED: usize = 60;
/// Characters of a whole message at most.
const MESSAGE: usize = 800;

/// Wrong usage: exit status 2, as for a flag that does not exist.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// A foreign text as a message may repeat it: in quotes, without control characters, and cut.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", cut(&plain(text), QUOTED))
}

/// A foreign text in one line, without control characters, cut to `most` characters.
pub(crate) fn line(text: &str, most: usize) -> String {
    cut(&plain(text), most)
}

/// An error and its causes in one line: the first line of each, since further ones are pictures of a
/// file. A cause that the text before it holds already is left out.
pub(crate) fn causes(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        let first = cause.lines().map(str::trim).find(|line| !line.is_empty());
        let cause = plain(first.unwrap_or_default());
        if !text.contains(&cause) {
            let joint = if text.is_empty() { "" } else { ": " };
            text = format!("{text}{joint}{cause}");
        }
    }
    cut(&text, MESSAGE)
}

/// Writes a line to standard error. A closed or full one is nothing that anybody could be told.
pub(crate) fn tell(line: fmt::Arguments<'_>) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_fmt(line).and_then(|()| out.write_all(b"\n"));
}

/// Shows what is being done where a person looks on; the next line takes its place.
pub(crate) fn progress(line: fmt::Arguments<'_>) {
    use std::io::IsTerminal as _;
    let mut out = std::io::stderr().lock();
    if out.is_terminal() {
        let _ = write!(out, "\r{line}\x1b[K\r");
    }
}

/// Writes to standard output. A reader that has had enough is no error.
pub(crate) fn print(text: &[u8]) -> anyhow::Result<()> {
    use anyhow::Context as _;
    let mut out = std::io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("standard output cannot be written"),
    }
}

/// Control characters and breaks become single spaces.
fn plain(text: &str) -> String {
    let spaced: String = text
        .chars()
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_without_escapes_and_without_end() {
        let error = anyhow::anyhow!("\nfirst \x1b[31mred\x1b[0m\r\n  | picture");
        assert_eq!(causes(&error), "first [31mred [0m");
        let long = anyhow::anyhow!("ü".repeat(5000));
        assert_eq!(causes(&long).chars().count(), MESSAGE + 1);
        assert_eq!(quoted(&"x".repeat(61)), format!("'{}…'", "x".repeat(60)));
    }

    #[test]
    fn a_cause_is_said_once() {
        let error = anyhow::anyhow!("No such file").context("a.csv cannot be read: No such file");
        assert_eq!(causes(&error), "a.csv cannot be read: No such file");
        let error = anyhow::anyhow!("refused").context("cannot reach it");
        assert_eq!(causes(&error), "cannot reach it: refused");
    }
}
