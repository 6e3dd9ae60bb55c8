//! What sources really send, and what becomes of it.

use proptest::prelude::*;

use super::*;
use crate::{
    plan::tests::policy,
    series::{Quality, Series},
    snapshot::Signal,
    units::Replicas,
};

const NOW: Timestamp = Timestamp(6000);
const GRID: Grid = Grid {
    step: 60,
    stale_after: 120,
    tick: 15,
};

/// One point a minute, the last at `NOW`.
fn minutes(values: &[f64]) -> Vec<(f64, f64)> {
    let first = 6000.0 - 60.0 * (values.len() as f64 - 1.0);
    let time = |index: usize| first + 60.0 * index as f64;
    values
        .iter()
        .enumerate()
        .map(|(index, &value)| (time(index), value))
        .collect()
}

fn raw(points: Vec<(f64, f64)>) -> RawSeries {
    RawSeries {
        partial: None,
        labels: BTreeMap::new(),
        points,
    }
}

fn signal(name: &str, means: Means, answer: Result<Vec<RawSeries>, String>) -> SignalInput {
    SignalInput {
        name: name.to_owned(),
        means,
        answer,
    }
}

fn seen(signals: Vec<SignalInput>) -> Target {
    let input = TargetInput {
        id: TargetId {
            namespace: "serving".to_owned(),
            name: "chat".to_owned(),
        },
        policy: policy(),
        problem: None,
        replicas: ReplicaCounts::default(),
        startups_seen: vec![],
        signals,
    };
    snapshot(NOW, GRID, vec![input], vec![], Memory::default())
        .targets
        .remove(0)
}

fn load_of(answer: Result<Vec<RawSeries>, String>) -> Signal {
    seen(vec![signal("arrivals", Means::Arrivals, answer)]).load
}

fn one(points: Vec<(f64, f64)>) -> Signal {
    load_of(Ok(vec![raw(points)]))
}

#[test]
fn fresh_samples_stand_on_the_grid() {
    let load = one(vec![
        (5881.0, 1.0),
        (5941.0, 2.0),
        (5960.0, 3.0),
        (6000.0, 4.0),
    ]);
    assert_eq!(
        load.series,
        Series {
            start: Timestamp(5880),
            step: 60,
            // The newest sample of a step is its value.
            values: vec![Some(1.0), Some(3.0), Some(4.0)],
        }
    );
    assert_eq!((load.quality, load.detail.as_str()), (Quality::Ok, ""));
}

#[test]
fn what_is_no_data_is_missing_and_says_what_would_be_right() {
    let labelled = |pod: &str| RawSeries {
        partial: None,
        labels: BTreeMap::from([("pod".to_owned(), pod.to_owned())]),
        points: minutes(&[1.0]),
    };
    for (answer, words) in [
        (
            Err("the server answered 500".to_owned()),
            "the server answered 500",
        ),
        (Ok(vec![]), "found no series, it has to give exactly one"),
        (Ok(vec![raw(vec![])]), "no sample"),
        (
            Ok(vec![labelled("a"), labelled("b")]),
            "2 series ({pod=\"a\"}, {pod=\"b\"} …)",
        ),
        (
            Ok(vec![raw(minutes(&[f64::NAN, f64::NAN]))]),
            "the last is NaN",
        ),
        (Ok(vec![raw(minutes(&[-1.0]))]), "the last is -1"),
        (
            Ok(vec![raw(vec![(6000.0, 1.0), (5940.0, 1.0)])]),
            "times have to rise",
        ),
        (
            Ok(vec![raw(vec![(6000.0, 1.0), (6000.0, 2.0)])]),
            "times have to rise",
        ),
        (Ok(vec![raw(vec![(f64::NAN, 1.0)])]), "unix seconds"),
    ] {
        let load = load_of(answer);
        assert_eq!(load.quality, Quality::Missing, "{words}");
        assert_eq!(load.series.values, []);
        assert!(
            load.detail.starts_with("signal `arrivals`: "),
            "{}",
            load.detail
        );
        assert!(load.detail.contains(words), "{} lacks {words}", load.detail);
        assert!(!load.detail.contains('\n'));
    }
    let html = load_of(Err("<html>\n<body>".repeat(100)));
    assert!(
        html.detail.chars().count() <= 401,
        "a page does not become a condition"
    );
    let none = seen(vec![signal(
        "queue",
        Means::Waiting,
        Ok(vec![raw(minutes(&[1.0]))]),
    )]);
    assert_eq!(none.load.quality, Quality::Missing);
    assert!(
        none.load.detail.contains("Arrivals or Served"),
        "{}",
        none.load.detail
    );
}

#[test]
fn an_old_sample_is_stale_and_one_from_the_future_is_clock_skew() {
    assert_eq!(one(vec![(5880.0, 1.0)]).quality, Quality::Ok);
    let old = one(vec![(5879.0, 1.0)]);
    assert_eq!(old.quality, Quality::Stale);
    assert!(
        old.detail.contains("121 s old, at most 120 s"),
        "{}",
        old.detail
    );
    assert_eq!(one(vec![(6120.0, 1.0)]).quality, Quality::Ok);
    let skewed = one(vec![(5990.0, 1.0), (6121.0, 1.0)]);
    assert_eq!(skewed.quality, Quality::Stale);
    assert!(skewed.detail.contains("clock skew"), "{}", skewed.detail);
}

#[test]
fn a_gap_in_the_recent_past_is_partial_and_an_old_one_is_not() {
    let nan = f64::NAN;
    let hole = one(minutes(&[1.0, 1.0, nan, 1.0, 1.0]));
    assert_eq!(hole.series.values[2], None);
    assert_eq!(hole.quality, Quality::Partial);
    assert!(
        hole.detail.contains("1 of the last 5 steps"),
        "{}",
        hole.detail
    );
    // The window over which HPA looks back is 300 s here: five steps.
    assert_eq!(
        one(minutes(&[nan, 1.0, 1.0, 1.0, 1.0, 1.0])).quality,
        Quality::Ok
    );
    // A series that has just begun has no gap before its begin.
    assert_eq!(one(minutes(&[1.0])).quality, Quality::Ok);
}

#[test]
fn zero_is_idle_only_when_it_was_measured() {
    assert_eq!(
        one(minutes(&[3.0, 0.0, 0.0, 0.0, 0.0, 0.0])).quality,
        Quality::Idle
    );
    assert_eq!(
        one(minutes(&[3.0, 0.0, 0.0, 0.0, 0.0])).quality,
        Quality::Ok
    );
}

#[test]
fn of_several_arrivals_the_highest_counts_and_a_missing_one_forbids_to_lower() {
    let a = signal("a", Means::Arrivals, Ok(vec![raw(minutes(&[1.0, 5.0]))]));
    let b = signal("b", Means::Arrivals, Ok(vec![raw(minutes(&[3.0, 2.0]))]));
    let broken = signal("c", Means::Arrivals, Err("timed out".to_owned()));
    let both = seen(vec![a.clone(), b]).load;
    assert_eq!(both.series.values, [Some(3.0), Some(5.0)]);
    assert_eq!(both.quality, Quality::Ok);
    let partial = seen(vec![a, broken.clone()]).load;
    assert_eq!(partial.series.values, [Some(1.0), Some(5.0)]);
    assert_eq!(partial.quality, Quality::Partial);
    assert_eq!(partial.detail, "signal `c`: timed out");
    assert_eq!(
        seen(vec![broken.clone(), broken]).load.quality,
        Quality::Missing
    );
}

#[test]
fn without_arrivals_the_offered_load_is_what_is_served_turned_away_and_queued() {
    let served = signal(
        "served",
        Means::Served,
        Ok(vec![raw(minutes(&[10.0, 10.0, 10.0]))]),
    );
    let rejected = signal(
        "rejected",
        Means::Rejected,
        Ok(vec![raw(minutes(&[0.0, 1.0, 2.0]))]),
    );
    let queue = signal(
        "queue",
        Means::Waiting,
        Ok(vec![raw(minutes(&[60.0, 180.0, 0.0]))]),
    );
    let all = seen(vec![served.clone(), rejected.clone(), queue.clone()]);
    assert_eq!(all.load.series.values, [Some(10.0), Some(13.0), Some(9.0)]);
    assert_eq!(all.load.quality, Quality::Ok);
    assert_eq!(
        all.waiting.unwrap().series.values,
        [Some(60.0), Some(180.0), Some(0.0)]
    );
    // An unknown part makes it a lower bound.
    let broken = signal("rejected", Means::Rejected, Err("timed out".to_owned()));
    let part = seen(vec![served, broken]).load;
    assert_eq!(
        (part.quality, part.series.values[2]),
        (Quality::Partial, Some(10.0))
    );
    // A step without `served` stays a gap; without it altogether there is no load.
    let hole = Ok(vec![raw(minutes(&[10.0, f64::NAN, 10.0]))]);
    let hole = seen(vec![
        signal("served", Means::Served, hole),
        rejected.clone(),
    ]);
    assert_eq!(hole.load.series.values, [Some(10.0), None, Some(12.0)]);
    let late = signal("served", Means::Served, Ok(vec![raw(minutes(&[10.0]))]));
    let short = seen(vec![late, rejected.clone(), queue]).load;
    assert_eq!(short.series.values.len(), 1);
    assert_eq!(seen(vec![rejected]).load.quality, Quality::Missing);
}

#[test]
fn targets_and_nodes_stand_in_order() {
    let input = |name: &str| TargetInput {
        id: TargetId {
            namespace: "serving".to_owned(),
            name: name.to_owned(),
        },
        policy: policy(),
        problem: None,
        replicas: ReplicaCounts {
            desired: Replicas(1),
            ..ReplicaCounts::default()
        },
        startups_seen: vec![],
        signals: vec![],
    };
    let seen = snapshot(
        NOW,
        GRID,
        vec![input("b"), input("a")],
        vec![],
        Memory::default(),
    );
    let names: Vec<&str> = seen
        .targets
        .iter()
        .map(|target| target.id.name.as_str())
        .collect();
    assert_eq!(names, ["a", "b"]);
}

fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => 0.0..1e6_f64,
        1 => Just(0.0),
        1 => prop::num::f64::ANY,
    ]
}

fn any_answer() -> impl Strategy<Value = Result<Vec<RawSeries>, String>> {
    let point = (
        prop_oneof![9 => -1000.0..12_000.0_f64, 1 => prop::num::f64::ANY],
        any_value(),
    );
    let points = prop::collection::vec(point, 0..40).prop_map(|mut points| {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        raw(points)
    });
    prop_oneof![
        9 => prop::collection::vec(points, 0..3).prop_map(Ok),
        1 => ".*".prop_map(Err),
    ]
}

fn any_signal() -> impl Strategy<Value = SignalInput> {
    let means = prop_oneof![
        Just(Means::Arrivals),
        Just(Means::Served),
        Just(Means::Waiting),
        Just(Means::Rejected),
        Just(Means::InFlight)
    ];
    (means, any_answer()).prop_map(|(means, answer)| signal("x", means, answer))
}

proptest! {
    #[test]
    fn whatever_comes_is_judged_without_a_value_that_is_none(
        signals in prop::collection::vec(any_signal(), 0..5),
    ) {
        let target = seen(signals);
        for signal in std::iter::once(&target.load).chain(&target.waiting) {
            let values = &signal.series.values;
            prop_assert!(values.iter().flatten().all(|value| value.is_finite() && *value >= 0.0));
            prop_assert!(values.len() <= 15 * 1440 + 2);
            prop_assert_eq!(signal.series.start.0.rem_euclid(60) == 0, true);
            prop_assert_eq!(signal.detail.is_empty(), signal.quality.may_lower());
            if signal.quality <= Quality::Partial {
                let (time, _) = signal.series.latest().unwrap();
                prop_assert!((NOW.since(time)).abs() <= 180);
            }
        }
    }
}

#[test]
fn a_queue_that_drains_is_divided_by_the_time_between_its_samples() {
    // On the minute, and once more in the middle of the last one, as the newest value is read: 50 a second leave.
    let now = 6000.0;
    let on_grid = [
        (now - 120.0, 9000.0),
        (now - 60.0, 6000.0),
        (now - 30.0, 4500.0),
    ];
    let queue = signal("queue", Means::Waiting, Ok(vec![raw(on_grid.to_vec())]));
    let served = [
        (now - 120.0, 100.0),
        (now - 60.0, 100.0),
        (now - 30.0, 100.0),
    ];
    let served = signal("served", Means::Served, Ok(vec![raw(served.to_vec())]));
    let load = seen(vec![served.clone(), queue]).load;
    assert_eq!(load.series.values, [Some(100.0), Some(50.0)], "{load:?}");
    // A step and a half between the samples of two steps.
    let sparse = [(now - 120.0, 9000.0), (now - 30.0, 4500.0)];
    let queue = signal("queue", Means::Waiting, Ok(vec![raw(sparse.to_vec())]));
    let load = seen(vec![served, queue]).load;
    assert_eq!(load.series.values.last(), Some(&Some(50.0)), "{load:?}");
}

#[test]
fn a_partial_answer_is_a_lower_bound() {
    let mut half = raw(minutes(&[5.0, 5.0, 5.0]));
    half.partial = Some("store b did not answer".to_owned());
    let load = seen(vec![signal("a", Means::Arrivals, Ok(vec![half]))]).load;
    assert_eq!(load.quality, Quality::Partial);
    assert_eq!(
        load.detail,
        "signal `a`: the answer is partial: store b did not answer"
    );
}
