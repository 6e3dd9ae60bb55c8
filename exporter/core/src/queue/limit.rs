//! How many requests an engine runs at once, for servers that do not say it as a metric: from another
//! page of theirs, or from the command line. Unknown stays unknown; no default is assumed.

use super::dialect::Dialect;

/// A page that names the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its port; `None`: that of the metrics.
    pub port: Option<u16>,
    /// Its path; `{model}` stands for the model's name.
    pub path: &'static str,
    /// The key before the number.
    pub key: &'static str,
}

/// The whole number above zero behind the first `"key":` of a JSON text that has one there.
pub fn in_json(text: &str, key: &str) -> Option<u64> {
    let quoted = format!("\"{key}\"");
    text.split(&quoted).skip(1).find_map(|rest| {
        let rest = rest.trim_start().strip_prefix(':')?.trim_start();
        let end = rest.find(|letter: char| !letter.is_ascii_digit());
        let (digits, rest) = rest.split_at(end.unwrap_or(rest.len()));
        let ended = !rest.starts_with(['.', 'e', 'E']);
        digits.parse().ok().filter(|number| ended && *number > 0)
    })
}

/// The limit on a command line or in the environment of a container. The words of a shell's `-c` are
/// looked into as well; the last mention counts, as it does for the servers.
pub fn in_command<'a>(
    dialect: &Dialect,
    words: impl Iterator<Item = &'a str>,
    variables: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<u64> {
    let words: Vec<&str> = words.flat_map(str::split_ascii_whitespace).collect();
    let option = |word: &str| dialect.arguments.contains(&word);
    let mut found = None;
    for (index, word) in words.iter().enumerate() {
        let value = match word.split_once('=') {
            Some((name, value)) if option(name) => Some(value),
            None if option(word) => words.get(index + 1).copied(),
            _ => None,
        };
        if let Some(value) = value {
            found = Some(value);
        }
    }
    let of_variables = || {
        let named = |(name, _): &(&str, &str)| dialect.variables.contains(name);
        variables.filter(named).last().map(|(_, value)| value)
    };
    let value = found.or_else(of_variables)?;
    value
        .trim_matches(['"', '\''])
        .parse()
        .ok()
        .filter(|limit| *limit > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{servers, vllm};

    fn command(dialect: &Dialect, words: &[&str], variables: &[(&str, &str)]) -> Option<u64> {
        in_command(dialect, words.iter().copied(), variables.iter().copied())
    }

    #[test]
    fn options_are_read_in_both_spellings_and_the_last_counts() {
        let vllm = &vllm::VLLM;
        assert_eq!(
            command(vllm, &["serve", "--max-num-seqs", "64"], &[]),
            Some(64)
        );
        assert_eq!(command(vllm, &["--max-num-seqs=64"], &[]), Some(64));
        let twice = ["--max-num-seqs=64", "--max-num-seqs", "32"];
        assert_eq!(command(vllm, &twice, &[]), Some(32));
        let shell = ["bash", "-c", "vllm serve m --max-num-seqs '16' --port 1"];
        assert_eq!(command(vllm, &shell, &[]), Some(16));
        for words in [
            &["--max-num-seqs"][..],
            &["--max-num-seqs", "$N"],
            &["--max-num-seqs=0"],
        ] {
            assert_eq!(command(vllm, words, &[]), None, "{words:?}");
        }
    }

    #[test]
    fn variables_stand_behind_options() {
        let tgi = &servers::TGI;
        let variables = [("MAX_BATCH_SIZE", "8"), ("OTHER", "9")];
        assert_eq!(command(tgi, &[], &variables), Some(8));
        assert_eq!(
            command(tgi, &["--max-batch-size", "4"], &variables),
            Some(4)
        );
    }

    #[test]
    fn a_number_is_found_in_json_and_nothing_else_is_taken_for_one() {
        assert_eq!(
            in_json("{\"a\":1,\"total_slots\": 4}", "total_slots"),
            Some(4)
        );
        let null_first = "{\"max_batch_size\":null,\"x\":{\"max_batch_size\":8}}";
        assert_eq!(in_json(null_first, "max_batch_size"), Some(8));
        for text in [
            "",
            "{\"n\":0}",
            "{\"n\":1.5}",
            "{\"n\":\"7\"}",
            "{\"n\":-1}",
            "\"n\"",
            "{\"n\":1e3}",
        ] {
            assert_eq!(in_json(text, "n"), None, "{text}");
        }
    }
}
