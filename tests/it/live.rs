//! Rules and dashboards on living programs, in both dialects of the labels: every metric that they name occurs in a
//! scrape, and every query finds data in a Prometheus with all rules, or stands on a list with its reason.

mod stage;

use std::{collections::BTreeSet, fs, time::Duration};

use serde_json::Value;
use tests::{product, prometheus::Prometheus, service::until};

use self::stage::{DIALECTS, Stage};
use super::alerts::{metrics, queries, rules};

/// Parts of queries that find nothing here, and why.
const WITHOUT_DATA: &[(&str, &str)] = &[
    ("foresail_batch_", "needs the role --cluster inside a pod"),
    ("foresail:joules_per_request", "needs a kubelet"),
    ("foresail:requests_per_joule", "needs a kubelet"),
    ("quality=~\"Missing|Stale\"", "the load is known"),
    ("startup_seconds", "no pod starts without a kubelet"),
    ("what=\"energy\"", "every board here counts its energy"),
];

fn excused(query: &str) -> bool {
    WITHOUT_DATA.iter().any(|(part, _)| query.contains(part))
}

/// The selectors of a query: metrics with what stands in braces behind them.
fn selectors(query: &str) -> BTreeSet<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let mut found = BTreeSet::new();
    for name in metrics(query) {
        for (at, _) in query.match_indices(&name) {
            let (before, rest) = (&query[..at], &query[at + name.len()..]);
            let whole = !before.ends_with(word) && !rest.starts_with(word);
            let quoted = before.matches('"').count() % 2 == 1;
            if !whole || quoted {
                continue;
            }
            let braces = rest
                .strip_prefix('{')
                .and_then(|rest| rest.split('}').next());
            found.insert(braces.map_or(name.clone(), |inside| format!("{name}{{{inside}}}")));
        }
    }
    found
}

#[test]
fn selectors_are_found_with_their_braces() {
    let query = r#"sum(DCGM_X{a="DCGM_Y"}) / foresail:z > on (q) DCGM_XY"#;
    let expected = [r#"DCGM_X{a="DCGM_Y"}"#, "DCGM_XY", "foresail:z"];
    assert_eq!(selectors(query), expected.map(str::to_owned).into());
}

/// What must find data: records by their names, what alerts look at, and the queries of dashboards as Grafana fills them in.
fn expected() -> BTreeSet<String> {
    let rules = rules();
    let mut found = BTreeSet::new();
    for rule in &rules {
        match rule["record"].as_str() {
            Some(name) => drop(found.insert(name.to_owned())),
            None => found.extend(selectors(rule["expr"].as_str().unwrap())),
        }
    }
    for (place, query) in queries(&[]) {
        assert!(!place.is_empty());
        match query.strip_prefix("label_values(") {
            Some(rest) => drop(found.insert(rest.split(',').next().unwrap().to_owned())),
            None => drop(found.insert(query.replace("$namespace", ".*"))),
        }
    }
    assert!(found.len() > 40, "only {found:?}");
    found
}

/// Queries without an answer.
async fn unanswered(
    prometheus: &Prometheus,
    queries: &BTreeSet<String>,
) -> anyhow::Result<Vec<String>> {
    let mut empty = Vec::new();
    for query in queries {
        if prometheus.count(query).await? == 0 {
            empty.push(query.clone());
        }
    }
    Ok(empty)
}

/// Names of the metrics in the scrapes of these addresses.
async fn scraped(addresses: &[String]) -> anyhow::Result<(BTreeSet<String>, String)> {
    let mut all = String::new();
    for address in addresses {
        let answer = reqwest::get(format!("http://{address}/metrics")).await?;
        all.push_str(&answer.error_for_status()?.text().await?);
    }
    let names = all.lines().filter(|line| !line.starts_with('#'));
    let names = names.filter_map(|line| line.split(['{', ' ']).next());
    Ok((names.map(str::to_owned).collect(), all))
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_of_rules_and_dashboards_find_data_in_both_dialects() {
    let stage = Stage::set().await.unwrap();
    let all = expected();
    let wanted: BTreeSet<String> = all
        .iter()
        .filter(|query| !excused(query))
        .cloned()
        .collect();
    let named: BTreeSet<String> = wanted.iter().flat_map(|query| metrics(query)).collect();
    for (side, (dialect, label)) in stage.sides.iter().zip(DIALECTS) {
        let found = until("data", Duration::from_secs(90), async || {
            Ok(unanswered(&side.prometheus, &wanted).await?.is_empty())
        })
        .await;
        let empty = unanswered(&side.prometheus, &wanted).await.unwrap();
        assert!(
            found.is_ok(),
            "{dialect}: no data for:\n{}",
            empty.join("\n")
        );
        let (present, text) = scraped(&side.scraped).await.unwrap();
        let missing: Vec<_> = named
            .iter()
            .filter(|name| !name.contains(':') && !present.contains(*name))
            .collect();
        assert!(missing.is_empty(), "{dialect}: in no scrape: {missing:?}");
        assert!(text.contains(&format!("{label}=\"node-1\"")), "{dialect}");
        let loaded = side.prometheus.ask("rules", &[]).await.unwrap();
        let groups = loaded["groups"].as_array().unwrap().iter();
        let states = groups.flat_map(|group| group["rules"].as_array().unwrap());
        let broken: Vec<_> = states.filter(|rule| rule["health"] == "err").collect();
        assert!(broken.is_empty(), "{dialect}: {broken:?}");
    }
    for (part, why) in WITHOUT_DATA {
        let used = all.iter().filter(|query| query.contains(part));
        let used: BTreeSet<String> = used.cloned().collect();
        let empty = unanswered(&stage.sides[0].prometheus, &used).await.unwrap();
        assert!(
            !used.is_empty() && empty.len() == used.len(),
            "{part} ({why}) is on the list for nothing: {used:?}"
        );
    }
}

/// A query of NVIDIA's dashboard as Grafana sends it when all values of its variables are chosen.
fn filled_in(query: &str, instances: &[String], gpus: &[String]) -> String {
    let any = |values: &[String]| {
        let escaped: Vec<_> = values
            .iter()
            .map(|value| value.replace('.', "\\\\."))
            .collect();
        format!("({})", escaped.join("|"))
    };
    query
        .replace("$__rate_interval", "1m")
        .replace("$instance", &any(instances))
        .replace("$gpu", &any(gpus))
}

#[tokio::test(flavor = "multi_thread")]
async fn nvidias_dashboard_finds_data() {
    let path = tests::root().join("../shared/captures/dcgm-exporter/dashboard.json");
    let Ok(text) = fs::read_to_string(&path) else {
        let why = "NVIDIA's dashboard is not part of this repository";
        return tests::skip("nvidias_dashboard_finds_data", why);
    };
    let board: Value = serde_json::from_str(&text).unwrap();
    let panels = board["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let queries: Vec<&str> = targets.map(|one| one["expr"].as_str().unwrap()).collect();
    assert!(queries.len() >= 8, "{queries:?}");
    let folder = tempfile::tempdir().unwrap();
    for (dialect, _) in DIALECTS {
        let flags = [
            "--simulated=2xH100-SXM5-80GB".to_owned(),
            format!("--dialect={dialect}"),
        ];
        let (_exporter, address) = product::exporter_with(folder.path(), &flags).await.unwrap();
        let prometheus = Prometheus::start(&[("dcgm", address)], None).await.unwrap();
        let temperature = "DCGM_FI_DEV_GPU_TEMP";
        until("a scrape", Duration::from_secs(30), async || {
            Ok(prometheus.count(temperature).await? == 2)
        })
        .await
        .unwrap();
        let instances = prometheus
            .label_values(temperature, "instance")
            .await
            .unwrap();
        let gpus = prometheus.label_values(temperature, "gpu").await.unwrap();
        assert_eq!(
            (instances.len(), gpus.as_slice()),
            (1, ["0".to_owned(), "1".to_owned()].as_slice())
        );
        for query in &queries {
            let asked = filled_in(query, &instances, &gpus);
            assert!(!asked.contains('$'), "a variable is left: {asked}");
            let series = prometheus.count(&asked).await.unwrap();
            let whole = query.contains("sum(") || query.contains("avg(");
            assert_eq!(series, if whole { 1 } else { 2 }, "{dialect}: {asked}");
        }
    }
}
