//! Rules, dashboards and runbooks: they load in a real Prometheus tool, their own tests pass, and every
//! metric that they name exists. Starts no server.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    process::Command,
};

use exporter_core::catalog::Kind;
use serde_json::Value;

/// Files of a folder of the repository with an extension, sorted.
pub(crate) fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(tests::root().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no .{extension} in {folder}");
    files
}

fn read(file: &str) -> String {
    fs::read_to_string(tests::root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Every rule of `alerts/`.
pub(crate) fn rules() -> Vec<Value> {
    let mut rules = Vec::new();
    for path in files("alerts", "yaml") {
        let file: Value = serde_yaml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for group in file["groups"].as_array().unwrap() {
            rules.extend(group["rules"].as_array().unwrap().iter().cloned());
        }
    }
    rules
}

fn names<'a>(rules: &'a [Value], key: &str) -> BTreeSet<&'a str> {
    rules.iter().filter_map(|rule| rule[key].as_str()).collect()
}

#[test]
fn promtool_accepts_the_rules_and_their_tests_pass() {
    let promtool = tests::peer("prometheus").unwrap().join("promtool");
    for (what, folder) in [("rules", "alerts"), ("test", "alerts/tests")] {
        let words: &[&str] = if what == "test" {
            &["test", "rules"]
        } else {
            &["check", "rules", "--lint=all", "--lint-fatal"]
        };
        let output = Command::new(&promtool)
            .args(words)
            .args(files(folder, "yaml"))
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "promtool {words:?}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn every_alert_has_a_test_and_a_runbook_that_says_meaning_check_and_act() {
    let rules = rules();
    let alerts = names(&rules, "alert");
    let tested: String = files("alerts/tests", "yaml")
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    for rule in rules.iter().filter(|rule| rule["alert"].is_string()) {
        let name = rule["alert"].as_str().unwrap();
        assert!(
            tested.contains(&format!("alertname: {name}")),
            "{name}: no promtool test"
        );
        let page = format!("docs/runbooks/{name}.md");
        assert_eq!(rule["annotations"]["runbook"], page, "{name}");
        let text = read(&page);
        for heading in [
            format!("# {name}\n"),
            "\n## Meaning\n".into(),
            "\n## Check\n".into(),
            "\n## Act\n".into(),
        ] {
            assert!(text.contains(&heading), "{page}: lacks {heading:?}");
        }
    }
    for path in files("docs/runbooks", "md") {
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            alerts.contains(name),
            "{}: there is no such alert",
            path.display()
        );
    }
}

/// Names that the autoscaler registers, read from its source: linking the program only for this would
/// cost more than it shows. Families with a unit or of another type add an ending.
fn autoscaler_metrics() -> BTreeSet<String> {
    let source = read("autoscaler/controller/src/telemetry.rs");
    let prefix = "foresail_autoscaler_";
    assert!(source.contains("with_prefix(\"foresail_autoscaler\")"));
    let mut found = BTreeSet::new();
    for (call, unit) in [(".register(", ""), (".register_with_unit(", "_seconds")] {
        for part in source.split(call).skip(1) {
            if let Some(name) = part.trim_start().strip_prefix('"') {
                let name = name.split('"').next().unwrap();
                found.insert(format!("{prefix}{name}{unit}"));
            }
        }
    }
    assert!(found.len() > 10, "{found:?}");
    found
}

/// Words of a query that can be metric names: no strings, no names before `(`, `=` or after `by (`.
pub(crate) fn metrics(query: &str) -> BTreeSet<String> {
    let mut plain = String::new();
    for (index, part) in query.split('"').enumerate() {
        if index % 2 == 0 {
            plain.push_str(part);
        }
    }
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    plain
        .split(|c| !word(c))
        .filter(|name| {
            name.starts_with("foresail") || name.starts_with("DCGM_") || name.contains(':')
        })
        .filter(|name| name.len() > 1)
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_words_of_a_query_are_found() {
    let found = metrics(r#"sum by (a) (DCGM_FI_X{b="foresail_no"}[5m]) / foresail:y > foresail_z"#);
    let expected = ["DCGM_FI_X", "foresail:y", "foresail_z"];
    assert_eq!(found, expected.map(str::to_owned).into());
}

/// Every query of rules and dashboards with the place where it stands.
pub(crate) fn queries(rules: &[Value]) -> Vec<(String, String)> {
    let mut queries: Vec<_> = rules
        .iter()
        .map(|rule| {
            (
                format!("rule {}{}", rule["alert"], rule["record"]),
                rule["expr"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    for path in files("dashboards", "json") {
        let board: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for panel in board["panels"].as_array().unwrap() {
            let place = format!("{}: panel {}", path.display(), panel["title"]);
            for target in panel["targets"].as_array().into_iter().flatten() {
                queries.push((place.clone(), target["expr"].as_str().unwrap().to_owned()));
            }
        }
        for variable in board["templating"]["list"].as_array().unwrap() {
            if let Some(query) = variable["query"]["query"].as_str() {
                queries.push((path.display().to_string(), query.to_owned()));
            }
        }
    }
    queries
}

#[test]
fn every_metric_of_a_rule_or_dashboard_exists() {
    let rules = rules();
    let mut known: BTreeSet<String> = exporter_core::catalog::groups()
        .into_iter()
        .flat_map(|(_, metrics)| metrics)
        .flat_map(|metric| match metric.kind {
            Kind::Histogram => ["_bucket", "_sum", "_count"]
                .map(|ending| format!("{}{ending}", metric.name))
                .to_vec(),
            Kind::Counter | Kind::Gauge => vec![metric.name.to_owned()],
        })
        .collect();
    known.extend(names(&rules, "record").into_iter().map(str::to_owned));
    for name in autoscaler_metrics() {
        for ending in ["", "_total", "_bucket", "_sum", "_count"] {
            known.insert(format!("{name}{ending}"));
        }
    }
    let mut seen = 0;
    for (place, query) in queries(&rules) {
        for name in metrics(&query) {
            assert!(known.contains(&name), "{place}: there is no metric {name}");
            seen += 1;
        }
    }
    assert!(seen > 30, "only {seen} names were found");
}

#[test]
fn dashboards_are_sound() {
    for path in files("dashboards", "json") {
        let name = path.display();
        let board: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let variables = board["templating"]["list"].as_array().unwrap();
        assert!(
            variables.iter().any(|one| one["type"] == "datasource"),
            "{name}: no variable for the data source"
        );
        let mut places = BTreeMap::new();
        for panel in board["panels"].as_array().unwrap() {
            let at = (&panel["gridPos"]["x"], &panel["gridPos"]["y"]);
            let id = format!("{at:?}");
            assert_eq!(places.insert(id, &panel["title"]), None, "{name}: overlap");
            if panel["type"] != "row" {
                assert_eq!(panel["datasource"]["uid"], "${datasource}", "{name}");
            }
        }
    }
}
