//! The whole path on real programs: GPU metrics and load → Prometheus → forecast → decision → `/scale`,
//! beside a real HPA. Three targets on three shifts of one load: a rise, a kill of the controller inside
//! a stabilization window, an outage of Prometheus inside a fall. It takes under 20 minutes.

mod choose;
mod replay;
mod stage;
mod watch;

use std::time::Duration;

use replay::{TICK, falls, need};
use stage::{RISE, Stage};
use tests::{load::now, product, product::Controller, prometheus::lint};

/// Seconds of Prometheus' outage.
const OUTAGE_SECONDS: f64 = 90.0;

#[tokio::test(flavor = "multi_thread")]
async fn a_day_on_real_programs() {
    let mut stage = Stage::set().await.unwrap();
    let flags = [format!("--tick={TICK}"), "--stale-after=60".to_owned()];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let start = async |stage: &Stage| {
        Controller::start(&stage.plane.kubeconfig(), &stage.prometheus.url(), &flags)
            .await
            .unwrap()
    };
    let mut controller = start(&stage).await;
    exporter_passes_promtool(&stage).await;

    // A kill inside the stabilization window of `restart`, as soon as that is seen to hold.
    let held = wait_until_held(&stage, stage.begin + 500.0).await;
    controller.service.kill();
    let killed = now();
    controller = start(&stage).await;
    eprintln!(
        "{:.0} s: killed inside the window after the recommendation of {:.0} s, and started again",
        killed - stage.begin,
        held - stage.begin
    );

    progress(&stage, stage.begin + RISE + 185.0).await;
    nothing_flaps(&stage, held, killed);
    the_rise_is_met(&stage);
    the_same_reason_everywhere(&stage);

    // The outage begins when `outage` is about to lose replicas twice.
    let control = falls(&stage.control_run(2, 1150));
    let stopped = stage.begin + outage_begins(&control);
    eprintln!(
        "control run of outage: fewer replicas at {control:?} s; Prometheus stops at {:.0} s",
        stopped - stage.begin
    );
    progress(&stage, stopped).await;
    stage.prometheus.stop().unwrap();
    progress(&stage, stopped + OUTAGE_SECONDS).await;
    // What was decided before Prometheus ended may be written a moment later.
    let (from, to) = (stopped + 15.0, now());
    nothing_falls_without_data(&stage, from, to, &control);
    stage.prometheus.resume().await.unwrap();
    decisions_resume(&stage, now()).await;
    assert!(
        controller.service.runs(),
        "the controller ended:\n{}",
        controller.service.tail()
    );
    assert_eq!(
        controller.service.stop(Duration::from_secs(10)).unwrap(),
        Some(0)
    );
}

/// When Prometheus stops, in seconds of the run: after the rise, shortly before two falls of the control
/// run, so that a fall that comes a little earlier or later still lies in the outage.
fn outage_begins(control: &[i64]) -> f64 {
    let earliest = RISE + 190.0;
    let two = control
        .windows(2)
        .find(|pair| pair[0] as f64 > earliest + 20.0 && pair[1] - pair[0] < 60);
    two.map_or_else(
        || panic!("no two falls after {earliest} s: {control:?}"),
        |pair| pair[0] as f64 - 20.0,
    )
}

/// Waits until a time, with a line every 30 s.
async fn progress(stage: &Stage, until: f64) {
    while now() < until {
        tokio::time::sleep(Duration::from_secs_f64((until - now()).clamp(0.05, 30.0))).await;
        eprintln!("{:>5.0} s: {}", now() - stage.begin, stage.watch.line());
    }
}

/// A part of a scaler's status.
fn status(stage: &Stage, name: &str, path: &str) -> String {
    stage.plane.status(name, path).unwrap()
}

/// Waits until the window of `restart` has held replicas for ten seconds. The time of the newest
/// recommendation that asked for what is there: until the window after it has passed, nothing may go.
async fn wait_until_held(stage: &Stage, deadline: f64) -> f64 {
    let mut since = None;
    let mut shown = 0.0;
    loop {
        assert!(
            now() < deadline,
            "the stabilization window of restart never held:\n{}",
            stage.watch.line()
        );
        let limiters = status(stage, "restart", "lastDecision.limiters");
        since = if limiters.contains("StabilizationWindow") {
            since.or(Some(now()))
        } else {
            None
        };
        if now() > stage.begin + 60.0 && since.is_some_and(|since| now() - since > 10.0) {
            return newest_that_asked(stage);
        }
        if now() - shown > 30.0 {
            shown = now();
            eprintln!("{:>5.0} s: {}", shown - stage.begin, stage.watch.line());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// When the replicas of `restart` were last recommended, by the memory in its status.
fn newest_that_asked(stage: &Stage) -> f64 {
    let there: i64 = status(stage, "restart", "desiredReplicas").parse().unwrap();
    let memory: serde_json::Value =
        serde_json::from_str(&status(stage, "restart", "memory")).unwrap();
    let recommendations = memory["recommendations"].as_array().unwrap();
    let asked = recommendations
        .iter()
        .rev()
        .find(|entry| entry[1].as_i64().unwrap() >= there);
    asked.unwrap_or_else(|| panic!("nothing in the memory asked for {there}: {memory}"))[0]
        .as_f64()
        .unwrap()
}

/// (d) After the kill nothing is lowered before the window has passed, and nothing goes up and down.
fn nothing_flaps(stage: &Stage, held: f64, killed: f64) {
    // From the look before the kill, so that what happened between two looks counts too.
    let changes = stage.watch.changes("restart", killed - 3.0, killed + 240.0);
    eprintln!("restart: changes after the kill {changes:.0?}");
    for (at, change) in &changes {
        // A look sees a change late, never early; a second for the rounding of stamps.
        let passed = at - held;
        assert!(
            *change > 0 || passed >= 119.0,
            "lowered {passed:.0} s into a window of 120 s"
        );
    }
    for pair in changes.windows(2) {
        let turned = pair[0].1.signum() != pair[1].1.signum();
        assert!(
            !turned || pair[1].0 - pair[0].0 > 120.0,
            "flapped: {changes:?}"
        );
    }
    assert!(
        changes.iter().any(|(_, change)| *change < 0),
        "the fall was never followed: {changes:?}"
    );
}

/// (a) Enough replicas are Ready when the rise comes, hardly more before it, and the HPA comes late.
fn the_rise_is_met(stage: &Stage) {
    let target = &stage.targets[0];
    let rise = stage.begin + RISE;
    let control = stage.control_run(0, 790);
    let short = |moment: &&replay::Moment| {
        moment.at as f64 >= RISE && moment.ready < need(moment.load, target.capacity)
    };
    eprintln!(
        "rise: the control run is short at {} of its moments",
        control.iter().filter(short).count()
    );
    let mut highest = 0;
    let mut hpa_short = 0.0;
    for seen in stage.watch.between("rise", rise, rise + 180.0) {
        let load = target.load.rate(seen.at);
        highest = highest.max(need(load, target.capacity));
        let serves = f64::from(seen.ready) * target.capacity;
        assert!(
            serves >= load,
            "{:.0} s into the rise {} ready serve {serves:.1}, the load is {load:.1}",
            seen.at - rise,
            seen.ready
        );
    }
    let before = stage.watch.between("rise", rise - 600.0, rise);
    let mean = before.iter().map(|seen| f64::from(seen.ready)).sum::<f64>() / before.len() as f64;
    let limit = (1.15 * f64::from(highest)).ceil();
    for seen in stage.watch.between("rise-hpa", rise, rise + 180.0) {
        if f64::from(seen.ready) * target.capacity < target.load.rate(seen.at) {
            hpa_short += 2.0;
        }
    }
    let first = |name: &str, replicas: u32| {
        let seen = stage.watch.between(name, rise - 600.0, rise + 185.0);
        // The last time that it was below, since a burst before may have brought it there for a while.
        seen.iter()
            .rev()
            .find(|seen| seen.ready < i32::try_from(replicas).unwrap())
            .map_or(rise - 600.0, |seen| seen.at)
    };
    eprintln!(
        "rise: need {highest}; Ready before {mean:.2}, at most {limit}; enough were Ready at {:.0} s, of the HPA at {:.0} s; the HPA was short for {hpa_short:.0} s of 180",
        first("rise", highest) - rise,
        first("rise-hpa", highest) - rise,
    );
    assert!(
        mean <= limit,
        "Ready before the rise {mean:.2}, at most {limit}"
    );
    assert!(
        hpa_short > 0.0,
        "the real HPA had enough as well: this rise shows nothing"
    );
    assert!(
        first("rise-hpa", highest) > rise,
        "the HPA had enough before the load came: this rise shows nothing"
    );
    assert!(
        first("rise", highest) < first("rise-hpa", highest),
        "the HPA was there first"
    );
}

/// (c) The command line and the status name the same reason.
fn the_same_reason_everywhere(stage: &Stage) {
    for name in ["rise", "restart", "outage"] {
        let target = format!("default/{name}");
        let before = status(stage, name, "lastDecision.reason");
        let output = product::foresail(&stage.plane.kubeconfig(), &["explain", &target]).unwrap();
        let after = status(stage, name, "lastDecision.reason");
        let text = String::from_utf8(output.stdout).unwrap();
        eprintln!("{text}");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let named = |reason: &str| text.contains(&format!("reason     {reason}\n"));
        assert!(
            named(&before) || named(&after),
            "status {before} or {after}, explain:\n{text}"
        );
    }
    eprintln!("{}", stage.plane.kubectl(&["get", "isc"]).unwrap());
}

/// (b) While Prometheus is stopped nothing is lowered, though the control run does lower.
fn nothing_falls_without_data(stage: &Stage, from: f64, to: f64, control: &[i64]) {
    let (first, last) = (from - stage.begin, to - stage.begin);
    let would: Vec<_> = control
        .iter()
        .filter(|at| (first..last).contains(&(**at as f64)))
        .collect();
    eprintln!("outage from {first:.0} s to {last:.0} s: the control run lowers at {would:?}");
    assert!(
        !would.is_empty(),
        "the control run lowers nothing in the outage: it shows nothing ({control:?})"
    );
    for name in ["rise", "restart", "outage"] {
        let changes = stage.watch.changes(name, from, to);
        assert!(
            changes.iter().all(|(_, change)| *change > 0),
            "{name} lost replicas without data: {changes:?}"
        );
    }
    let quality = status(stage, "outage", "loadQuality");
    assert!(
        quality == "Missing" || quality == "Stale",
        "the quality in the outage is {quality}"
    );
    let condition = status(
        stage,
        "outage",
        "conditions[?(@.type==\"ScalingActive\")].status",
    );
    assert_eq!(condition, "False");
}

/// (b) When Prometheus is back, decisions are, and what is too much is taken away.
async fn decisions_resume(stage: &Stage, back: f64) {
    let deadline = back + 240.0;
    loop {
        let lowered = stage
            .watch
            .changes("outage", back, now())
            .iter()
            .any(|(_, change)| *change < 0);
        if lowered && status(stage, "outage", "loadQuality") == "Ok" {
            eprintln!("decisions are back {:.0} s after Prometheus", now() - back);
            return;
        }
        let text = status(stage, "outage", "lastDecision.message");
        assert!(
            now() < deadline,
            "no decision after Prometheus came back: {text}"
        );
        progress(stage, now() + 5.0).await;
    }
}

/// (e) The exporter's names pass promtool, save for DCGM's own, which are listed; Prometheus has them.
async fn exporter_passes_promtool(stage: &Stage) {
    let text = reqwest::get(format!("http://{}/metrics", stage.exporter))
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert_eq!(lint(&text).unwrap().1, Vec::<String>::new(), "promtool");
    let gpus = stage
        .prometheus
        .value("count(DCGM_FI_DEV_GPU_UTIL)")
        .await
        .unwrap();
    assert_eq!(gpus, Some(2.0), "GPUs that Prometheus scraped");
}
