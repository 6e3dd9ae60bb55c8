//! The page: hostile text stays text, nothing missing is shown as zero, every chart has words.

use autoscaler_core::{snapshot::Gpu, units::TargetId};

use super::*;

fn full() -> Page {
    let gpu = |index, utilization| Gpu {
        index,
        model: "H100".into(),
        utilization,
        memory: None,
        target: Some(TargetId {
            namespace: "serving".into(),
            name: "chat".into(),
        }),
    };
    Page {
        title: "Foresail".into(),
        subtitle: "a day".into(),
        refresh: Some(2),
        targets: vec![Target {
            name: "serving/chat".into(),
            sentence: "8 → 11 replicas".into(),
            load: (0..10)
                .map(|i| (Timestamp(i * 60), 10.0 + i as f64))
                .collect(),
            forecast: (1..11).map(|i| (Timestamp(i * 60), 10.0, 20.0)).collect(),
            replicas: (0..10).map(|i| (Timestamp(i * 60), 3, 2)).collect(),
            rival: Some(("HPA".into(), vec![(Timestamp(0), 4), (Timestamp(540), 5)])),
        }],
        nodes: vec![Node {
            name: "node-0".into(),
            gpus: vec![gpu(0, Some(0.5)), gpu(1, None)],
        }],
        changes: vec![Change {
            time: "08:00".into(),
            target: "serving/chat".into(),
            sentence: "up".into(),
        }],
        scores: vec![
            vec!["policy".into(), "late".into()],
            vec!["foresail".into(), "12".into()],
        ],
    }
}

#[test]
fn everything_stands_on_the_page() {
    let html = page(&full());
    for expected in [
        "<title>Foresail</title>",
        "content=\"2\"",
        "8 → 11 replicas",
        "now 19.0 requests per second",
        "3 replicas are asked for, 2 are Ready",
        "GPU 0<br>50 %",
        "<td>12</td>",
        "08:00",
        "HPA",
    ] {
        assert!(html.contains(expected), "{expected} is not in {html}");
    }
    assert_eq!(html.matches("<svg").count(), html.matches("</svg>").count());
    assert_eq!(html.matches("<svg").count(), html.matches("<desc>").count());
}

#[test]
fn a_gpu_without_a_reading_is_unknown_and_not_idle() {
    let html = page(&full());
    assert!(html.contains("GPU 1<br>unknown") && !html.contains("GPU 1<br>0 %"));
}

#[test]
fn text_from_outside_stays_text() {
    let hostile = "<script>alert('\"&')</script>".to_owned();
    let mut data = full();
    data.title.clone_from(&hostile);
    data.subtitle.clone_from(&hostile);
    data.targets[0].name.clone_from(&hostile);
    data.targets[0].sentence.clone_from(&hostile);
    data.targets[0].rival = Some((hostile.clone(), Vec::new()));
    data.nodes[0].name.clone_from(&hostile);
    data.nodes[0].gpus[0].model.clone_from(&hostile);
    data.nodes[0].gpus[0].target = Some(TargetId {
        namespace: hostile.clone(),
        name: hostile.clone(),
    });
    data.changes[0] = Change {
        time: hostile.clone(),
        target: hostile.clone(),
        sentence: hostile.clone(),
    };
    data.scores[1][0].clone_from(&hostile);
    let html = page(&data);
    assert!(!html.contains("<script"), "{html}");
    assert!(html.matches("&lt;script&gt;").count() >= 11);
}

#[test]
fn an_empty_page_says_what_to_do() {
    let html = page(&Page::default());
    assert!(html.contains("create an InferenceScaler") && html.contains("None so far."));
    assert!(!html.contains("http-equiv"));
}
