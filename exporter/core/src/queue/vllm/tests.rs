//! vLLM's answers in our own words, in its format.

use super::*;
use crate::exposition::parse;

fn ask(limit: Option<u64>, text: &str) -> Result<Vec<Server>, VllmError> {
    let target = Target {
        batch_limit: limit,
        ..Target::default()
    };
    servers(&target, &parse(text).unwrap())
}

const TWO_ENGINES: &str = "\
vllm:num_requests_running{engine=\"0\",model_name=\"chat\"} 12.0
vllm:num_requests_running{engine=\"1\",model_name=\"chat\"} 4.0
vllm:num_requests_waiting{engine=\"0\",model_name=\"chat\"} 3.0
vllm:num_requests_waiting{engine=\"1\",model_name=\"chat\"} 0.0
vllm:num_requests_waiting_by_reason{engine=\"0\",model_name=\"chat\",reason=\"capacity\"} 3.0
";

#[test]
fn engines_are_summed_and_each_has_its_limit() {
    let found = ask(Some(16), TWO_ENGINES).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].waiting, found[0].running),
        (Some(3.0), Some(16.0))
    );
    assert_eq!(found[0].batch_efficiency(), Some(0.5));
}

#[test]
fn an_unknown_limit_gives_no_efficiency() {
    assert_eq!(ask(None, TWO_ENGINES).unwrap()[0].batch_efficiency(), None);
    assert_eq!(
        ask(Some(0), TWO_ENGINES).unwrap()[0].batch_efficiency(),
        None
    );
}

#[test]
fn a_missing_gauge_is_absent_not_zero() {
    let found = ask(
        Some(16),
        "vllm:num_requests_waiting{model_name=\"chat\"} 2\n",
    )
    .unwrap();
    assert_eq!((found[0].waiting, found[0].running), (Some(2.0), None));
    assert_eq!(found[0].batch_efficiency(), None);
}

#[test]
fn the_first_name_wins_and_nothing_is_added() {
    let text = "new{model_name=\"m\"} 2\nold{model_name=\"m\"} 5\n";
    let samples = parse(text).unwrap();
    let sum = |names| first(names, &samples).unwrap().sums.get("m").copied();
    assert_eq!(sum(&["new", "old"]), Some(2.0));
    assert_eq!(sum(&["newer", "old"]), Some(5.0));
}

#[test]
fn two_models_are_two_servers() {
    let text = "vllm:num_requests_running{model_name=\"b\"} 1\nvllm:num_requests_running{model_name=\"a\"} 2\n";
    let models: Vec<String> = ask(None, text)
        .unwrap()
        .into_iter()
        .map(|s| s.model)
        .collect();
    assert_eq!(models, ["a", "b"]);
}

#[test]
fn other_answers_are_refused() {
    assert_eq!(ask(None, "up 1\n"), Err(VllmError::NotVllm));
    let bad = ask(None, "vllm:num_requests_waiting{model_name=\"m\"} NaN\n").unwrap_err();
    assert_eq!(
        bad.to_string(),
        "vllm:num_requests_waiting is NaN, not a number of requests"
    );
}
