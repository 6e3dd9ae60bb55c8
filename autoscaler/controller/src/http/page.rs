//! The page for people: what `autoscaler-view` draws of the last passes. Decides nothing.

use autoscaler_core::{explain, plan::Decision, snapshot::Target, units::Timestamp};
use autoscaler_view::{Change, Page, Target as Shown};

use super::Published;

/// Targets that are drawn at most; a page of a thousand charts helps nobody.
const TARGETS: usize = 50;
/// Seconds of load that are drawn.
const SPAN: i64 = 6 * 3600;

/// The page as HTML.
pub(super) fn page(published: &Published) -> String {
    let mut page = Page {
        title: "Foresail".to_owned(),
        subtitle: "no pass is finished yet".to_owned(),
        refresh: Some(15),
        changes: published.changes.iter().map(change).collect(),
        ..Page::default()
    };
    if let Some(latest) = &published.latest {
        let (snapshot, plan) = latest.as_ref();
        let all = snapshot.targets.len();
        let hidden = if all > TARGETS {
            format!("; the first {TARGETS} are drawn, `kubectl get isc -A` lists all")
        } else {
            String::new()
        };
        page.subtitle = format!("{all} target(s) at {}{hidden}", snapshot.now);
        page.nodes.clone_from(&snapshot.nodes);
        let pairs = snapshot.targets.iter().zip(&plan.decisions).take(TARGETS);
        page.targets = pairs
            .map(|(target, decision)| shown(published, target, decision, snapshot.now))
            .collect();
    }
    autoscaler_view::page(&page)
}

fn shown(published: &Published, target: &Target, decision: &Decision, now: Timestamp) -> Shown {
    let series = &target.load.series;
    let from = now.plus(-SPAN);
    let load = series
        .values
        .iter()
        .enumerate()
        .filter_map(|(index, value)| Some((series.time(index), (*value)?)));
    let past = published.decisions.get(&target.id);
    let forecast = |past: &Decision| {
        let forecast = past.basis.forecast.as_ref()?;
        Some((
            past.time.plus(forecast.horizon),
            forecast.median,
            forecast.load,
        ))
    };
    Shown {
        name: target.id.to_string(),
        sentence: explain::sentence(decision),
        load: load.filter(|(time, _)| *time >= from).collect(),
        forecast: past.into_iter().flatten().filter_map(forecast).collect(),
        replicas: published
            .replicas
            .get(&target.id)
            .into_iter()
            .flatten()
            .copied()
            .collect(),
        rival: None,
    }
}

fn change(decision: &Decision) -> Change {
    Change {
        time: decision.time.to_string(),
        target: decision.target.to_string(),
        sentence: explain::sentence(decision),
    }
}
