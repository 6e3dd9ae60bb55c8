//! How many series a full node has: eight boards cut into seven, sixty processes, twelve inference servers. The owners
//! of the processes are counted in `exporter/core/src/collect/budget.rs`.

use std::fmt::Write;

use exporter_core::exposition::Sample;

use crate::{
    exporter::{Exporter, Setting, library},
    faults::dense,
    server::fake_server,
};

/// A vLLM with two histograms of as many buckets as it has.
fn inference_server() -> String {
    let mut page = String::from(
        "vllm:num_requests_waiting{model_name=\"m\"} 3\nvllm:num_requests_running{model_name=\"m\"} 12\n\
         vllm:gpu_cache_usage_perc{model_name=\"m\"} 0.5\nvllm:request_success_total{model_name=\"m\"} 90\n",
    );
    for name in [
        "time_to_first_token",
        "e2e_request_latency",
        "time_per_output_token",
    ] {
        for step in 0..24 {
            let bound = 0.001 * 2_f64.powi(step);
            writeln!(
                page,
                "vllm:{name}_seconds_bucket{{model_name=\"m\",le=\"{bound}\"}} {step}"
            )
            .unwrap();
        }
        writeln!(
            page,
            "vllm:{name}_seconds_bucket{{model_name=\"m\",le=\"+Inf\"}} 90"
        )
        .unwrap();
        writeln!(page, "vllm:{name}_seconds_sum{{model_name=\"m\"}} 90").unwrap();
        writeln!(page, "vllm:{name}_seconds_count{{model_name=\"m\"}} 90").unwrap();
    }
    page
}

fn full_node() -> (String, String) {
    let mut world = dense();
    for gpu in 0..8 {
        for (what, id) in ["graphics", "tensor", "dram"]
            .into_iter()
            .flat_map(|what| (7..14).map(move |id| (what, id)))
        {
            writeln!(world, "gpu {gpu} set gpm_{what}.{id} 60").unwrap();
        }
    }
    for process in 0..60 {
        let (gpu, pid, id) = (process % 8, 100 + process, 7 + process % 7);
        writeln!(
            world,
            "gpu {gpu} process {pid} compute used 9 in {id} busy 40 20"
        )
        .unwrap();
    }
    let page: &'static str = Box::leak(inference_server().into_boxed_str());
    let mut servers = String::from("servers:\n");
    for number in 0..12 {
        let url = fake_server("200 OK", page);
        writeln!(
            servers,
            "  - {{kind: vllm, url: \"{url}\", namespace: s, pod: p-{number}}}"
        )
        .unwrap();
    }
    (world, servers)
}

fn scrape(more: &str, world: &str, ready: impl Fn(&[Sample]) -> bool) -> Vec<Sample> {
    let setting = Setting {
        more,
        ..Setting::default()
    };
    let mut exporter = Exporter::begin(world, &library(), &setting);
    let scrape = exporter.scrape_until("the whole node", |s| ready(&s.samples()));
    scrape.samples()
}

fn named<'a>(samples: &'a [Sample], name: &'a str) -> impl Iterator<Item = &'a Sample> {
    samples.iter().filter(move |sample| sample.name == name)
}

#[test]
fn a_full_node_stays_below_six_thousand_series_of_few_labels() {
    let (world, servers) = full_node();
    let samples = scrape(&servers, &world, |samples| {
        let engines = named(samples, "DCGM_FI_PROF_GR_ENGINE_ACTIVE").count();
        named(samples, "foresail_inference_queue_depth").count() == 12 && engines >= 8 * 7
    });
    assert!(
        samples.len() > 1500 && samples.len() < 6000,
        "{}",
        samples.len()
    );
    let most = samples
        .iter()
        .max_by_key(|sample| sample.labels.len())
        .unwrap();
    assert!(most.labels.len() < 20, "{} {:?}", most.name, most.labels);
    let told = named(&samples, "foresail_exporter_series").next().unwrap();
    assert!(
        (told.value - samples.len() as f64).abs() < 1.0,
        "{}",
        told.value
    );
}

#[test]
fn beyond_its_budget_a_node_leaves_whole_families_out_aloud() {
    let (world, servers) = full_node();
    let more = format!("maxSeries: 1500\n{servers}");
    let samples = scrape(&more, &world, |samples| {
        named(samples, "foresail_inference_queue_depth").count() == 12
            && named(samples, "foresail_exporter_dropped_series").count() > 0
    });
    assert!(samples.len() <= 1500, "{}", samples.len());
    for dropped in named(&samples, "foresail_exporter_dropped_series") {
        let family = &dropped.labels["family"];
        assert!(
            dropped.value > 0.0 && named(&samples, family).count() == 0,
            "{family}"
        );
    }
    for kept in [
        "foresail_gpu_up",
        "DCGM_FI_DEV_GPU_TEMP",
        "foresail_inference_queue_depth",
    ] {
        assert!(named(&samples, kept).count() > 0, "{kept}");
    }
}
