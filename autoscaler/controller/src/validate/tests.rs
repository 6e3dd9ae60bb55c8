//! What a spec becomes, and what is said of a bad one.

use super::*;

fn scaler(change: impl FnOnce(&mut serde_json::Value)) -> InferenceScaler {
    let mut object = serde_json::json!({
        "apiVersion": "foresail.dev/v1alpha1",
        "kind": "InferenceScaler",
        "metadata": {"name": "chat", "namespace": "serving"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "chat"},
            "minReplicas": 2,
            "maxReplicas": 40,
            "load": {"signals": [{"name": "arrivals", "promql": "sum(rate(x[1m]))", "means": "Arrivals"}]},
            "capacity": {"perReplica": "12.5"}
        }
    });
    change(&mut object["spec"]);
    serde_json::from_value(object).unwrap()
}

#[test]
fn what_is_absent_has_the_documented_default() {
    let policy = validate(&scaler(|_| {})).unwrap().policy;
    assert_eq!(
        (policy.min_replicas, policy.max_replicas),
        (Replicas(2), Replicas(40))
    );
    assert_eq!(
        (policy.mode, policy.paused, policy.fallback),
        (Mode::Recommend, Paused::None, Fallback::Hold)
    );
    assert!((policy.level.get() - 0.95).abs() < 1e-9);
    assert_eq!(policy.capacity_per_replica, Some(12.5));
    assert_eq!(policy.objectives, vec![]);
    assert_eq!((policy.horizon, policy.time_zone.as_str()), (None, "UTC"));
    assert_eq!(policy.behavior, Behavior::default());
}

#[test]
fn a_behavior_block_overrides_field_by_field() {
    let spec = scaler(|spec| {
        spec["behavior"] = serde_json::json!({"scaleDown": {
            "stabilizationWindowSeconds": 120, "tolerance": "0.05", "selectPolicy": "Min",
            "policies": [{"type": "Percent", "value": 10, "periodSeconds": 60}]}});
        spec["forecast"] = serde_json::json!({"horizon": "5m"});
    });
    let policy = validate(&spec).unwrap().policy;
    assert_eq!(policy.behavior.scale_up, Behavior::default().scale_up);
    assert_eq!(policy.behavior.scale_down.stabilization_window_seconds, 120);
    assert_eq!(
        policy.behavior.scale_down.policies,
        vec![RatePolicy {
            kind: RateKind::Percent,
            value: 10,
            period_seconds: 60
        }]
    );
    assert_eq!(policy.horizon, Some(300));
}

#[test]
fn a_bad_value_names_its_field_and_what_would_be_right() {
    type Change = fn(&mut serde_json::Value);
    let cases: [(Change, &str); 5] = [
        (
            |spec| spec["capacity"]["perReplica"] = "none".into(),
            "spec.capacity.perReplica: 'none' is no number",
        ),
        (
            |spec| spec["load"]["timeZone"] = "Berlin".into(),
            "spec.load.timeZone: 'Berlin' is no IANA time zone",
        ),
        (
            |spec| spec["forecast"] = serde_json::json!({"horizon": "2h"}),
            "spec.forecast.horizon: '2h'",
        ),
        (
            |spec| {
                spec["load"]["exclude"] = serde_json::json!([{"from": "yesterday", "to": "today"}]);
            },
            "spec.load.exclude: 'yesterday' is no RFC 3339 time",
        ),
        (
            |spec| spec["behavior"] = serde_json::json!({"scaleUp": {"tolerance": "much"}}),
            "spec.behavior: tolerance 'much'",
        ),
    ];
    for (change, expected) in cases {
        let problem = validate(&scaler(change)).unwrap_err().problem;
        assert_eq!(problem.kind, ProblemKind::InvalidSpec);
        assert!(problem.message.contains(expected), "{}", problem.message);
    }
}

#[test]
fn a_servers_queries_name_the_living_pods_only() {
    let spec = scaler(|spec| spec["load"] = serde_json::json!({"server": "vllm"}));
    let validated = validate(&spec).unwrap();
    let id = TargetId {
        namespace: "serving".into(),
        name: "chat".into(),
    };
    let queries = validated.queries(&id, &["chat-a".into(), "chat-b".into()]);
    assert!(
        queries[0]
            .promql
            .contains(r#"vllm:request_success_total{namespace="serving",pod=~"chat-a|chat-b"}"#)
    );
    assert!(
        validated.queries(&id, &[])[0]
            .promql
            .contains(r#"pod=~"-""#)
    );
}

#[test]
fn objectives_are_parsed_and_asked_for() {
    let spec = scaler(|spec| {
        spec["load"] = serde_json::json!({"server": "vllm"});
        spec["slo"] = serde_json::json!([{"metric": "TimePerOutputToken", "quantile": "0.9", "seconds": ".05"}]);
        spec.as_object_mut().unwrap().remove("capacity");
    });
    let validated = validate(&spec).unwrap();
    assert_eq!(validated.policy.capacity_per_replica, None);
    assert!((validated.policy.objectives[0].quantile.get() - 0.9).abs() < 1e-9);
    let id = TargetId {
        namespace: "serving".into(),
        name: "chat".into(),
    };
    let queries = validated.queries(&id, &["chat-a".into()]);
    let (running, latency) = (&queries[2], &queries[3]);
    assert_eq!(
        (running.means, latency.means),
        (Means::InFlight, Means::Latency(Metric::TimePerOutputToken))
    );
    let newest = r#"histogram_quantile(0.9, sum by (le) (rate(vllm:inter_token_latency_seconds_bucket{namespace="serving",pod=~"chat-a"}[2m])))"#;
    assert!(latency.promql.starts_with(newest), "{}", latency.promql);
    assert!(latency.promql.contains(
        " or histogram_quantile(0.9, sum by (le) (rate(vllm:time_per_output_token_seconds_bucket"
    ));
}

#[test]
fn a_bad_objective_is_named() {
    for (slo, expected) in [
        (
            serde_json::json!([{"metric": "EndToEnd", "quantile": "1.5", "seconds": "1"}]),
            "spec.slo: quantile '1.5'",
        ),
        (
            serde_json::json!([{"metric": "EndToEnd", "seconds": "0"}]),
            "spec.slo: seconds '0'",
        ),
    ] {
        let problem = validate(&scaler(|spec| spec["slo"] = slo))
            .unwrap_err()
            .problem;
        assert!(problem.message.contains(expected), "{}", problem.message);
    }
    let problem = validate(&scaler(|spec| {
        spec.as_object_mut().unwrap().remove("capacity");
    }));
    let message = problem.unwrap_err().problem.message;
    assert!(message.contains("spec.capacity: is absent"), "{message}");
}
