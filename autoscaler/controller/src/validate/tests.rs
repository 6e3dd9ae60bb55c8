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
    assert!(
        (policy.level.get() - 0.95).abs() < 1e-9
            && (policy.capacity_per_replica - 12.5).abs() < 1e-9
    );
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
