//! Reading what was written, and refusing what is not the format.

use proptest::prelude::*;

use super::*;
use crate::exposition::text::render_samples;

#[test]
fn reads_what_servers_send() {
    let text = "# HELP a b\n# TYPE a counter\n\
        a_total{ x = \"1\" , y=\"q\\\"\\\\\\n\", } 1e3 1700000000000\n\nb:c  -Inf\nd{} NaN\r\ne -nan\n";
    let samples = parse(text).unwrap();
    assert_eq!(samples[0].labels["y"], "q\"\\\n");
    assert_eq!(
        (samples[0].value, samples[0].timestamp),
        (1000.0, Some(1_700_000_000_000))
    );
    assert!(samples[1].value.is_infinite() && samples[1].value < 0.0);
    assert!(samples[2].value.is_nan() && samples[3].value.is_nan());
}

#[test]
fn errors_say_where_and_what() {
    for (text, expected) in [
        (
            "ok 1\n<html>\n",
            "line 2: \"<html>\" is not a metric name (letters, digits, _ and :)",
        ),
        ("a{b=\"c\" 1", "line 1: neither , nor } after label b"),
        (
            "a{b=\"c",
            "line 1: the value of label b is not closed by \"",
        ),
        (
            "a{b=c} 1",
            "line 1: the value of label b does not start with \"",
        ),
        ("a{b=\"1\",b=\"2\"} 1", "line 1: label b stands twice"),
        (
            "a{b=\"\\t\"} 1",
            "line 1: label b has a \\ that is not followed by \\, \" or n",
        ),
        (
            "a{1=\"2\"} 1",
            "line 1: \"1\" is not a label name (letters, digits and _)",
        ),
        ("a{", "line 1: the labels are not closed by }"),
        ("a", "line 1: a has no value"),
        (
            "a infinity",
            "line 1: value \"infinity\" of a is not a number",
        ),
        (
            "a 1 2.5",
            "line 1: timestamp \"2.5\" of a is not whole milliseconds",
        ),
        ("a 1 2 3", "line 1: text after the timestamp of a"),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), expected);
    }
}

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let labels = proptest::collection::btree_map("[a-zA-Z_][a-zA-Z0-9_]{0,5}", ".{0,8}", 0..4);
    let value = prop_oneof![
        any::<f64>().prop_filter("NaN is unequal to itself", |v| !v.is_nan()),
        Just(f64::INFINITY),
        Just(0.1),
    ];
    let sample = (
        "[a-zA-Z_:][a-zA-Z0-9_:]{0,8}",
        labels,
        value,
        any::<Option<i64>>(),
    );
    let sample = sample.prop_map(|(name, labels, value, timestamp)| Sample {
        name,
        labels,
        value,
        timestamp,
    });
    proptest::collection::vec(sample, 0..8)
}

proptest! {
    #[test]
    fn reading_undoes_writing(samples in samples()) {
        prop_assert_eq!(parse(&render_samples(&samples)), Ok(samples));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(?s).{0,200}") {
        if let Err(error) = parse(&text) {
            prop_assert!(error.line >= 1 && error.line <= text.split('\n').count());
        }
    }

    #[test]
    fn damaged_expositions_do_not_panic(samples in samples(), at in any::<usize>(), by in any::<char>()) {
        let mut letters: Vec<char> = render_samples(&samples).chars().collect();
        if !letters.is_empty() {
            let at = at % letters.len();
            letters[at] = by;
        }
        let text: String = letters.into_iter().collect();
        let _ = parse(&text);
    }
}
