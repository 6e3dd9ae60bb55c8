//! Answers in our own words, in the servers' formats. The folder golden/servers holds one file a server:
//! two answers, fifteen seconds apart, and beside it what they come to.

use super::*;
use crate::{
    exposition::parse,
    queue::{dialect::named, vllm},
};

fn target(limit: Option<u64>) -> Target {
    Target {
        batch_limit: limit,
        ..Target::default()
    }
}

fn ask(limit: Option<u64>, text: &str) -> Result<Answer, ReadError> {
    let memory = &mut Memory::default();
    read(
        &target(limit),
        &parse(text).unwrap(),
        &BTreeMap::new(),
        0.0,
        memory,
    )
}

fn one(limit: Option<u64>, text: &str) -> Server {
    let mut answer = ask(limit, text).unwrap();
    assert_eq!((answer.servers.len(), &answer.incomplete), (1, &None));
    answer.servers.remove(0)
}

const TWO_ENGINES: &str = "\
vllm:num_requests_running{engine=\"0\",model_name=\"chat\"} 12.0
vllm:num_requests_running{engine=\"1\",model_name=\"chat\"} 4.0
vllm:num_requests_waiting{engine=\"0\",model_name=\"chat\"} 3.0
vllm:num_requests_waiting{engine=\"1\",model_name=\"chat\"} 0.0
vllm:num_requests_waiting_by_reason{engine=\"0\",model_name=\"chat\",reason=\"capacity\"} 3.0
vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"chat\"} 0.5
vllm:kv_cache_usage_perc{engine=\"1\",model_name=\"chat\"} 0.25
";

#[test]
fn engines_are_summed_and_each_has_its_limit() {
    let found = one(Some(16), TWO_ENGINES);
    assert_eq!((found.waiting, found.running), (Some(3.0), Some(16.0)));
    assert_eq!(found.batch_limit, Some((32, LimitSource::Configured)));
    assert_eq!(
        (found.batch_efficiency, found.kv_usage),
        (Some(0.5), Some(0.375))
    );
}

#[test]
fn an_unknown_limit_gives_no_efficiency() {
    assert_eq!(one(None, TWO_ENGINES).batch_efficiency, None);
    assert_eq!(one(Some(0), TWO_ENGINES).batch_limit, None);
}

#[test]
fn limits_are_believed_in_order() {
    let samples = parse(TWO_ENGINES).unwrap();
    let limit = |configured, page: Option<u64>, argument_limit| {
        let target = Target {
            argument_limit,
            ..target(configured)
        };
        let pages = page
            .map(|limit| (String::new(), limit))
            .into_iter()
            .collect();
        let memory = &mut Memory::default();
        let answer = read(&target, &samples, &pages, 0.0, memory).unwrap();
        answer.servers[0].batch_limit
    };
    assert_eq!(
        limit(Some(1), Some(2), Some(3)),
        Some((2, LimitSource::Configured))
    );
    assert_eq!(
        limit(None, Some(2), Some(3)),
        Some((4, LimitSource::Endpoint))
    );
    assert_eq!(
        limit(None, None, Some(3)),
        Some((6, LimitSource::Arguments))
    );
    assert_eq!(limit(None, None, None), None);
}

#[test]
fn a_missing_gauge_is_absent_not_zero() {
    let found = one(
        Some(16),
        "vllm:num_requests_waiting{model_name=\"chat\"} 2\n",
    );
    assert_eq!((found.waiting, found.running), (Some(2.0), None));
    assert_eq!(found.batch_efficiency, None);
}

#[test]
fn the_first_name_wins_and_nothing_is_added() {
    let both = "vllm:gpu_cache_usage_perc{model_name=\"m\"} 0.5\n\
                vllm:kv_cache_usage_perc{model_name=\"m\"} 0.25\n";
    assert_eq!(one(None, both).kv_usage, Some(0.25));
    let old = both.lines().next().unwrap();
    assert_eq!(one(None, old).kv_usage, Some(0.5));
}

#[test]
fn a_model_without_the_first_name_takes_the_second() {
    let text = "nv_trt_llm_request_metrics{model=\"llm\",request_type=\"waiting\"} 4\n\
                nv_inference_pending_request_count{model=\"llm\"} 9\n\
                nv_inference_pending_request_count{model=\"eyes\"} 2\n";
    let answer = ask(None, text).unwrap();
    let found: Vec<_> = (answer.servers.iter())
        .map(|server| (server.model.as_str(), server.waiting))
        .collect();
    assert_eq!(found, [("eyes", Some(2.0)), ("llm", Some(4.0))]);
}

#[test]
fn two_models_are_two_servers() {
    let text = "vllm:num_requests_running{model_name=\"b\"} 1\nvllm:num_requests_running{model_name=\"a\"} 2\n";
    let answer = ask(None, text).unwrap();
    let models: Vec<&str> = answer.servers.iter().map(|s| s.model.as_str()).collect();
    assert_eq!(models, ["a", "b"]);
}

#[test]
fn other_answers_are_refused() {
    let unknown = ask(None, "up 1\n").unwrap_err().to_string();
    assert!(unknown.contains("(vllm, sglang, "), "{unknown}");
    let meant = Target {
        server: Some(&vllm::VLLM),
        ..Target::default()
    };
    let samples = parse("tgi_queue_size 1\n").unwrap();
    let error = read(
        &meant,
        &samples,
        &BTreeMap::new(),
        0.0,
        &mut Memory::default(),
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "the answer has no metric that begins with vllm:: not a vllm server's metrics"
    );
}

#[test]
fn one_bad_number_loses_itself_alone() {
    let text = "vllm:num_requests_waiting{model_name=\"m\"} NaN\n\
                vllm:num_requests_running{model_name=\"m\"} 2\n\
                vllm:e2e_request_latency_seconds_bucket{model_name=\"m\",le=\"1\"} 2\n";
    let answer = ask(None, text).unwrap();
    let found = &answer.servers[0];
    assert_eq!((found.waiting, found.running), (None, Some(2.0)));
    assert_eq!(
        answer.incomplete.unwrap(),
        "vllm:num_requests_waiting is NaN, not a number from 0; \
         vllm:e2e_request_latency_seconds has no bucket le=\"+Inf\""
    );
}

/// Progress of each answer: seconds, running requests and tokens.
fn progress(answers: &[(f64, f64, f64)]) -> Vec<(Progress, Option<f64>)> {
    let mut memory = Memory::default();
    let answer = |(now, running, tokens): &(f64, f64, f64)| {
        let text = format!(
            "vllm:num_requests_running{{model_name=\"m\"}} {running}\n\
             vllm:generation_tokens_total{{model_name=\"m\"}} {tokens}\n"
        );
        let samples = parse(&text).unwrap();
        let target = Target::default();
        let answer = read(&target, &samples, &BTreeMap::new(), *now, &mut memory);
        let server = &answer.unwrap().servers[0];
        (server.progress, server.running)
    };
    answers.iter().map(answer).collect()
}

#[test]
fn gauges_left_behind_are_told_from_idle_ones_by_counters() {
    let idle = progress(&[(0.0, 0.0, 5.0), (100.0, 0.0, 5.0)]);
    assert_eq!(idle[1], (Progress::Idle, Some(0.0)));
    let busy = progress(&[(0.0, 4.0, 5.0), (100.0, 4.0, 6.0)]);
    assert_eq!(busy[1], (Progress::Moving, Some(4.0)));
    let left = progress(&[
        (0.0, 4.0, 5.0),
        (59.0, 4.0, 5.0),
        (60.0, 4.0, 5.0),
        (61.0, 4.0, 6.0),
    ]);
    assert_eq!(left[1], (Progress::Moving, Some(4.0)));
    assert_eq!(left[2], (Progress::Stale, None));
    assert_eq!(left[3], (Progress::Moving, Some(4.0)), "it goes on");
    let anew = progress(&[(0.0, 4.0, 5.0), (100.0, 4.0, 1.0)]);
    assert_eq!(
        anew[1],
        (Progress::Moving, Some(4.0)),
        "a restart is no standstill"
    );
}

#[test]
fn a_mean_needs_two_answers_and_work_between_them() {
    let mut memory = Memory::default();
    let mut mean = |items: u32, executions: u32| {
        let text = format!(
            "nv_inference_count{{model=\"m\"}} {items}\nnv_inference_exec_count{{model=\"m\"}} {executions}\n\
             nv_inference_pending_request_count{{model=\"m\"}} 0\n"
        );
        let samples = parse(&text).unwrap();
        let answer = read(
            &target(Some(8)),
            &samples,
            &BTreeMap::new(),
            0.0,
            &mut memory,
        );
        answer.unwrap().servers[0].batch_efficiency
    };
    assert_eq!(mean(100, 50), None);
    assert_eq!(mean(140, 60), Some(0.5));
    assert_eq!(mean(140, 60), None, "nothing ran");
    assert_eq!(mean(4, 1), None, "it started anew");
    assert_eq!(mean(12, 2), Some(1.0));
}

#[test]
fn copies_of_ranks_and_parts_of_totals_are_not_added() {
    let row = |dp: u32, tp: u32, priority: &str, value: u32| {
        format!(
            "sglang:num_queue_reqs{{model_name=\"m\",dp_rank=\"{dp}\",tp_rank=\"{tp}\",priority=\"{priority}\"}} {value}\n"
        )
    };
    let text = [
        row(0, 0, "", 5),
        row(0, 1, "", 5),
        row(1, 2, "", 7),
        row(0, 0, "high", 3),
        row(0, 0, "low", 2),
    ]
    .concat();
    assert_eq!(one(None, &text).waiting, Some(12.0));
    let parts = [row(0, 0, "high", 3), row(0, 0, "low", 2)].concat();
    assert_eq!(
        one(None, &parts).waiting,
        Some(5.0),
        "without a total the parts are all there is"
    );
}

#[test]
fn every_server_is_told_by_its_names() {
    for dialect in dialect::ALL {
        assert_eq!(named(dialect.name), Some(*dialect));
        let text = golden_answer(dialect.name);
        let samples = parse(&text).unwrap();
        assert_eq!(
            dialect::detect(&samples).map(|d| d.name),
            Some(dialect.name)
        );
    }
}

fn golden_path(name: &str, end: &str) -> String {
    format!("{}/golden/servers/{name}.{end}", env!("CARGO_MANIFEST_DIR"))
}

#[expect(clippy::disallowed_methods, reason = "golden files lie on disk")]
fn golden_answer(name: &str) -> String {
    std::fs::read_to_string(golden_path(name, "answers.txt")).unwrap()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "golden files lie on disk")]
fn servers_come_to_what_their_files_say() {
    for dialect in dialect::ALL {
        let mut memory = Memory::default();
        let mut snapshot = crate::snapshot::Snapshot::default();
        let pages = BTreeMap::from([(String::new(), 8)]);
        let mut now = 0.0;
        for text in golden_answer(dialect.name).split("# 15 seconds later\n") {
            let samples = parse(text).unwrap();
            let target = Target {
                url: "http://10.0.0.5/metrics".into(),
                ..Target::default()
            };
            let pages = if dialect.endpoint.is_some() {
                &pages
            } else {
                &BTreeMap::new()
            };
            let answer = read(&target, &samples, pages, now, &mut memory).unwrap();
            assert_eq!(answer.incomplete, None, "{}", dialect.name);
            snapshot.servers = answer.servers;
            now += 15.0;
        }
        let text = crate::exposition::text::render(&crate::collect::collect(&snapshot, "0.0.0"));
        let wanted = |line: &&str| line.starts_with("foresail_inference_");
        let text: String = text
            .lines()
            .filter(wanted)
            .flat_map(|line| [line, "\n"])
            .collect();
        let path = golden_path(dialect.name, "series.txt");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            golden == text,
            "{path} differs; run with UPDATE_GOLDEN=1 and review"
        );
    }
}

/// Real servers' answers, where they are at hand.
#[expect(clippy::disallowed_methods, reason = "recordings lie on disk")]
fn captured(name: &str) -> Option<Answer> {
    let path = format!(
        "{}/../../../shared/profiles/captured/{name}",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).ok()?;
    Some(ask(Some(8), &text).unwrap())
}

/// Says so on the terminal and in the list that the test run checks, when it asks for one.
#[expect(clippy::disallowed_methods, reason = "the list lies on disk")]
fn skipped(line: &str) {
    use std::io::Write;
    eprintln!("skipped {line}");
    if let Some(log) = std::env::var_os("FORESAIL_SKIP_LOG") {
        let mut options = std::fs::OpenOptions::new();
        let mut log = options.create(true).append(true).open(log).unwrap();
        writeln!(log, "{line}").unwrap();
    }
}

#[test]
fn recordings_of_real_servers_are_read() {
    let all = [
        (
            "llama-server-0.6.0-metrics-busy.txt",
            "llama.cpp",
            Some(4.0),
            Some(4.0),
        ),
        (
            "llama-server-0.6.0-metrics-idle.txt",
            "llama.cpp",
            Some(0.0),
            Some(0.0),
        ),
        (
            "triton-2.51.0-cpu-metrics-busy.txt",
            "triton",
            Some(23.0),
            None,
        ),
        (
            "triton-2.51.0-cpu-metrics-idle.txt",
            "triton",
            Some(0.0),
            None,
        ),
    ];
    for (name, server, waiting, running) in all {
        let Some(answer) = captured(name) else {
            skipped("recordings_of_real_servers_are_read: no recordings of real servers");
            return;
        };
        let found = &answer.servers[0];
        assert_eq!(
            (found.server, found.waiting, found.running),
            (server, waiting, running)
        );
    }
    let answer = captured("mlserver-1.7.1-metrics.txt").unwrap();
    let [whole, addone] = &answer.servers[..] else {
        panic!("{answer:?}");
    };
    assert_eq!(
        (addone.model.as_str(), addone.served),
        ("addone", Some(240.0))
    );
    assert_eq!(whole.running, Some(0.0));
    assert!((whole.latency.as_ref().unwrap().count() - 240.0).abs() < 1e-9);
}
