//! Records of comma-separated values as Go's `encoding/csv` reads them, which dcgm-exporter uses: `#` in the first
//! column starts a comment, empty lines are skipped, a field that starts with `"` ends with one. Text goes no further
//! than its line.

/// One line's fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Counted from 1.
    pub(super) line: usize,
    /// As written, quotes removed.
    pub(super) fields: Vec<String>,
}

/// A quote where none may be, and the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unquotable(pub(super) usize);

/// All records of `text`.
pub(super) fn records(text: &str) -> Result<Vec<Record>, Unquotable> {
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let record = |(index, line)| {
        let line_number = index + 1;
        let fields = fields(line).ok_or(Unquotable(line_number))?;
        Ok(Record {
            line: line_number,
            fields,
        })
    };
    lines.map(record).collect()
}

/// The fields of a line; `None` for a quote inside a field or one without an end.
fn fields(line: &str) -> Option<Vec<String>> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, after) = if let Some(quoted) = rest.strip_prefix('"') {
            self::quoted(quoted)?
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            let field = &rest[..end];
            if field.contains('"') {
                return None;
            }
            (field.to_string(), &rest[end..])
        };
        fields.push(field);
        rest = match after.strip_prefix(',') {
            Some(next) => next,
            None if after.is_empty() => return Some(fields),
            None => return None,
        };
    }
}

/// A quoted field without its quotes, and what follows it; `""` inside stands for one quote.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut field = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('"')?;
        field.push_str(before);
        match after.strip_prefix('"') {
            Some(next) => {
                field.push('"');
                rest = next;
            }
            None => return Some((field, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Vec<(usize, Vec<String>)> {
        let records = records(text).unwrap();
        records
            .into_iter()
            .map(|record| (record.line, record.fields))
            .collect()
    }

    #[test]
    fn comments_and_empty_lines_are_skipped_and_blanks_kept() {
        let found = read("# x\n\na , b,c\r\n #d,e,f\n,\n");
        let expected = [
            (3, vec!["a ", " b", "c"]),
            (4, vec![" #d", "e", "f"]),
            (5, vec!["", ""]),
        ];
        let expected =
            expected.map(|(line, fields)| (line, fields.into_iter().map(String::from).collect()));
        assert_eq!(found, expected);
    }

    #[test]
    fn quotes_hold_commas_and_quotes() {
        assert_eq!(read("a,\"b, \"\"c\"\"\",d")[0].1, ["a", "b, \"c\"", "d"]);
        for bad in ["a, \"b\"", "a\"b", "\"a", "\"a\"b"] {
            assert_eq!(records(&format!("x\n{bad}")), Err(Unquotable(2)), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a,\"\n# ]{0,40}") {
            if let Ok(records) = records(&text) {
                prop_assert!(records.iter().all(|record| !record.fields.is_empty()));
            }
        }
    }
}
