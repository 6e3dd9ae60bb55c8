//! Durations on the command line: a whole number and a unit, such as `90s`, `60m`, `24h` or `7d`.

/// Seconds of a duration; the error says what would be right.
pub(crate) fn parse(text: &str) -> Result<i64, String> {
    let wrong = || {
        format!(
            "'{text}' is no duration; a whole number and s, m, h or d is, for example 90s or 7d"
        )
    };
    let unit = text.chars().last().ok_or_else(wrong)?;
    let scale = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return Err(wrong()),
    };
    let number = text[..text.len() - 1].parse::<u32>().map_err(|_| wrong())?;
    if number == 0 {
        return Err(format!(
            "'{text}' is no time at all; a duration is at least 1s"
        ));
    }
    Ok(i64::from(number) * scale)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_number_and_a_unit() {
        assert_eq!(parse("90s"), Ok(90));
        assert_eq!(parse("60m"), Ok(3600));
        assert_eq!(parse("7d"), Ok(604_800));
    }

    #[test]
    fn anything_else_is_refused_with_what_is_right() {
        for text in ["", "s", "7", "7 d", "-1h", "1.5h", "7w", "0s", "é"] {
            let error = parse(text).unwrap_err();
            assert!(error.contains("duration"), "{error}");
        }
    }
}
