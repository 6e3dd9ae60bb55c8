//! Prometheus' JSON as series. Every other body becomes a sentence that names what came.

use autoscaler_core::observe::RawSeries;
use serde::Deserialize;

#[derive(Deserialize)]
struct Answer {
    status: String,
    #[serde(default)]
    error: String,
    /// What a store that did not answer left out, for instance. Remarks on the query stand under `infos`.
    #[serde(default)]
    warnings: Vec<String>,
    data: Option<Data>,
}

#[derive(Deserialize)]
#[serde(tag = "resultType", content = "result", rename_all = "lowercase")]
enum Data {
    Matrix(Vec<Series>),
    Vector(Vec<Sample>),
    Scalar((f64, String)),
    String(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct Series {
    metric: std::collections::BTreeMap<String, String>,
    #[serde(default)]
    values: Vec<(f64, String)>,
}

#[derive(Deserialize)]
struct Sample {
    metric: std::collections::BTreeMap<String, String>,
    value: Option<(f64, String)>,
}

/// The series of a body.
///
/// # Errors
/// One line that goes on after "Prometheus at …".
pub(super) fn parse(status: u16, body: &[u8]) -> Result<Vec<RawSeries>, String> {
    let Ok(answer) = serde_json::from_slice::<Answer>(body) else {
        return Err(foreign(status, body));
    };
    if answer.status != "success" {
        return Err(format!("answered {status}: {}", line(&answer.error)));
    }
    let partial = answer.warnings.first().map(|first| line(first));
    let mut series = all(status, answer.data)?;
    for series in &mut series {
        series.partial.clone_from(&partial);
    }
    Ok(series)
}

fn all(status: u16, data: Option<Data>) -> Result<Vec<RawSeries>, String> {
    match data {
        None => Err(format!(
            "answered {status} without data; a matrix or a vector would be right"
        )),
        Some(Data::Matrix(series)) => series
            .into_iter()
            .map(|series| raw(series.metric, series.values))
            .collect(),
        Some(Data::Vector(samples)) => samples
            .into_iter()
            .map(|sample| raw(sample.metric, sample.value.into_iter().collect()))
            .collect(),
        Some(Data::Scalar(point)) => Ok(vec![raw(std::collections::BTreeMap::new(), vec![point])?]),
        Some(Data::String(_)) => Err(
            "answered with text; the query must give a number, such as sum(rate(...))".to_owned(),
        ),
    }
}

fn raw(
    mut labels: std::collections::BTreeMap<String, String>,
    values: Vec<(f64, String)>,
) -> Result<RawSeries, String> {
    labels.remove("__name__");
    let number = |(time, text): (f64, String)| {
        let value = text
            .parse()
            .map_err(|_| format!("sent the value '{}', which is no number", line(&text)))?;
        Ok::<_, String>((time, value))
    };
    Ok(RawSeries {
        labels,
        points: values.into_iter().map(number).collect::<Result<_, _>>()?,
        partial: None,
    })
}

/// A body that is not Prometheus' JSON.
fn foreign(status: u16, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(200)]);
    let kind = if text.trim_start().starts_with('<') {
        "HTML"
    } else {
        "a body"
    };
    format!(
        "answered {status} with {kind} that is not Prometheus' JSON ('{}'); is --prometheus-url the address of its API?",
        line(&text)
    )
}

/// The beginning of a text, in one line.
fn line(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(120).collect()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_matrix_a_vector_and_a_scalar_become_series() {
        let matrix = br#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"up","a":"b"},"values":[[1,"2"],[61.5,"NaN"],[121,"+Inf"]]}]}}"#;
        let series = parse(200, matrix).unwrap();
        assert_eq!(series[0].labels.len(), 1);
        assert_eq!(series[0].points[0], (1.0, 2.0));
        assert!(series[0].points[1].1.is_nan() && series[0].points[2].1.is_infinite());
        let vector = br#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"3"]}]}}"#;
        assert_eq!(parse(200, vector).unwrap()[0].points, vec![(1.0, 3.0)]);
        let scalar = br#"{"status":"success","data":{"resultType":"scalar","result":[1,"4"]}}"#;
        assert_eq!(parse(200, scalar).unwrap()[0].points, vec![(1.0, 4.0)]);
        let empty = br#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#;
        assert!(parse(200, empty).unwrap().is_empty());
    }

    #[test]
    fn what_is_left_out_is_passed_on_and_remarks_are_not() {
        let body = |more: &str| {
            let text = format!(
                r#"{{"status":"success",{more}"data":{{"resultType":"vector","result":[{{"metric":{{}},"value":[1,"3"]}}]}}}}"#
            );
            parse(200, text.as_bytes()).unwrap().remove(0).partial
        };
        let store = r#""warnings":["No StoreAPIs matched for this query"],"#;
        assert_eq!(
            body(store).as_deref(),
            Some("No StoreAPIs matched for this query")
        );
        assert_eq!(body(r#""infos":["metric might not be a counter"],"#), None);
        assert_eq!(body(""), None);
    }

    #[test]
    fn whatever_else_comes_is_said_in_one_line() {
        for (status, body, expected) in [
            (
                200,
                "<html>\n<body>Sign in</body></html>",
                "answered 200 with HTML that is not Prometheus' JSON",
            ),
            (502, "Bad Gateway", "answered 502 with a body that is not"),
            (
                400,
                r#"{"status":"error","errorType":"bad_data","error":"parse error:\n unexpected end"}"#,
                "answered 400: parse error: unexpected end",
            ),
            (
                200,
                r#"{"status":"success","data":{"resultType":"string","result":[1,"x"]}}"#,
                "answered with text",
            ),
            (
                200,
                r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"many"]}]}}"#,
                "'many', which is no number",
            ),
            (200, r#"{"status":"success"}"#, "without data"),
            (200, "", "that is not Prometheus' JSON"),
        ] {
            let error = parse(status, body.as_bytes()).unwrap_err();
            assert!(error.contains(expected) && !error.contains('\n'), "{error}");
        }
    }
}
