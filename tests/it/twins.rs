//! Every metric that a rule looks at is taken away once in a promtool test, and an alert that names it fires: silence
//! is never taken for health. promtool itself runs the tests (`alerts`); this finds the ones that are missing.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use serde_json::Value;

use super::alerts::{files, metrics, rules};

/// The test in which all is well.
const WHOLE: &str = "nothing is missing";

/// Metrics that a query looks at, through the records that it names, so that none of them is a record itself.
fn inputs(query: &str, records: &BTreeMap<&str, &str>) -> BTreeSet<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let bare = query.split(|c| !word(c)).map(str::to_owned);
    let named = metrics(query)
        .into_iter()
        .chain(bare.filter(|name| records.contains_key(name.as_str())));
    let mut found = BTreeSet::new();
    for name in named {
        match records.get(name.as_str()) {
            Some(made_of) => found.extend(inputs(made_of, records)),
            None => {
                found.insert(name);
            }
        }
    }
    found
}

/// The series that a promtool test is given, each with its values.
fn series(test: &Value) -> Vec<(&str, &str)> {
    let list = test["input_series"].as_array().unwrap().iter();
    list.map(|one| {
        let value = |key: &str| one[key].as_str().unwrap();
        (value("series"), value("values"))
    })
    .collect()
}

/// Alerts that a promtool test looks at, and whether it expects them to fire.
fn alerts(test: &Value) -> BTreeMap<&str, bool> {
    let list = test["alert_rule_test"].as_array().into_iter().flatten();
    list.map(|one| {
        let fires = !one["exp_alerts"].as_array().unwrap().is_empty();
        (one["alertname"].as_str().unwrap(), fires)
    })
    .collect()
}

/// Metrics that a file of promtool tests takes away one by one, so that an alert on them fires.
fn taken_away(
    name: &str,
    tests: &[Value],
    exprs: &BTreeMap<&str, BTreeSet<String>>,
) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let Some(whole) = tests.iter().find(|test| test["name"] == WHOLE) else {
        return found;
    };
    for test in tests {
        let Some(metric) = test["name"].as_str().unwrap().strip_prefix("without ") else {
            continue;
        };
        let of = |(series, _): &(&str, &str)| series.split('{').next() != Some(metric);
        let rest: Vec<_> = series(whole).into_iter().filter(of).collect();
        assert!(
            rest.len() < series(whole).len() && rest == series(test),
            "{name}: without {metric}: the series are not those of \"{WHOLE}\" less this metric"
        );
        for (alert, fires) in alerts(test) {
            assert_eq!(
                alerts(whole).get(alert),
                Some(&false),
                "{name}: \"{WHOLE}\" does not show that {alert} is silent then"
            );
            if fires && exprs[alert].contains(metric) {
                found.insert(metric.to_owned());
            }
        }
    }
    found
}

/// Names of all records or alerts with their expressions.
fn expressions<'a>(rules: &'a [Value], kind: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    rules
        .iter()
        .filter_map(move |rule| Some((rule[kind].as_str()?, rule["expr"].as_str()?)))
}

#[test]
fn an_alert_fires_for_every_metric_of_a_rule_that_is_taken_away() {
    let rules = rules();
    let records: BTreeMap<&str, &str> = expressions(&rules, "record").collect();
    let exprs = expressions(&rules, "alert")
        .map(|(name, query)| (name, inputs(query, &records)))
        .collect();
    let mut covered = BTreeSet::new();
    for path in files("alerts/tests", "yaml") {
        let name = path.display().to_string();
        let file: Value = serde_yaml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        covered.extend(taken_away(&name, file["tests"].as_array().unwrap(), &exprs));
    }
    let mut missing = Vec::new();
    for rule in &rules {
        for metric in inputs(rule["expr"].as_str().unwrap(), &records) {
            if !covered.contains(&metric) {
                missing.push(format!("{}{}: {metric}", rule["alert"], rule["record"]));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "nothing fires when these are absent:\n{}",
        missing.join("\n")
    );
    assert!(covered.len() > 25, "{covered:?}");
}

#[test]
fn inputs_are_found_through_records() {
    let records = BTreeMap::from([
        ("foresail:a", "foresail_b / foresail:c"),
        ("foresail:c", "DCGM_X"),
        ("gpu_util", "DCGM_Y"),
    ]);
    let found = inputs("foresail:a > on (x) absent(gpu_util)", &records);
    assert_eq!(
        found,
        ["DCGM_X", "DCGM_Y", "foresail_b"].map(str::to_owned).into()
    );
}
