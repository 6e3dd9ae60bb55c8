//! The capacity models against measured tables, on rows that were left out of the fit. Prints what it
//! finds; the bounds that it asserts are wider than that, so that a worse model fails and noise does not.

use std::{collections::BTreeMap, path::PathBuf};

use autoscaler_core::capacity::{
    profile::{Profile, Row},
    tokens::{Engine, Shape},
};

/// A row of a table by the names of its columns.
type Named = BTreeMap<String, String>;

/// Rows of a table of the shared profiles; absent, with a word, where they are not.
fn table(test: &str, name: &str) -> Option<Vec<Named>> {
    let path: PathBuf = tests::root().join("../shared/profiles").join(name);
    let Ok(content) = std::fs::read_to_string(&path) else {
        tests::skip(test, "the measured tables are not part of this repository");
        return None;
    };
    let mut lines = content
        .lines()
        .map(|line| line.split(',').map(str::to_owned));
    let header: Vec<String> = lines.next().unwrap().collect();
    Some(
        lines
            .map(|fields| header.iter().cloned().zip(fields).collect())
            .collect(),
    )
}

fn number(row: &Named, column: &str) -> f64 {
    row[column].parse().unwrap_or(f64::NAN)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Rows of one model that were measured: (slices of the instance, processes that share it, row).
fn measured(rows: &[Named], model: &str) -> Vec<(u32, u32, Row)> {
    let of_model = rows.iter().filter(|row| row["model"] == model);
    let sound = of_model.filter(|row| number(row, "throughput_per_process_rps") > 0.0);
    sound
        .map(|row| {
            let (size, sharers, batch) = (
                row["mig_gpcs"].parse::<u32>().unwrap(),
                row["mps_processes"].parse::<u32>().unwrap(),
                row["batch"].parse::<u32>().unwrap(),
            );
            let row = Row {
                slices: f64::from(size) / f64::from(sharers),
                batch,
                // The latency's own column is rounded to milliseconds.
                seconds: f64::from(batch) / number(row, "throughput_per_process_rps"),
                memory: None,
            };
            (size, sharers, row)
        })
        .collect()
}

/// How far off the highest rate within an objective is, on sizes of which no row was fitted.
fn highest_rates(profile: &Profile, alone: &[(u32, Row)]) -> Vec<f64> {
    let mut errors = Vec::new();
    for size in [2, 4] {
        for objective in [0.03, 0.05, 0.08, 0.15, 0.3] {
            let best = |seconds: &dyn Fn(&Row) -> f64| {
                let known = alone.iter().filter(|(other, _)| *other == size);
                let kept = known.filter(|(_, row)| seconds(row) <= objective);
                let rates = kept.map(|(_, row)| f64::from(row.batch) / seconds(row));
                rates.fold(0.0, f64::max)
            };
            let truth = best(&|row| row.seconds);
            if truth > 0.0 {
                let found = best(&|row| profile.seconds(row.batch, row.slices));
                errors.push(found / truth - 1.0);
            }
        }
    }
    errors
}

#[test]
fn profiles_of_models_hold_on_slices_and_batches_left_out() {
    let name = "profiles_of_models_hold_on_slices_and_batches_left_out";
    let Some(rows) = table(name, "parvagpu_a100_mig_mps/profiles.csv") else {
        return;
    };
    let models: std::collections::BTreeSet<&str> =
        rows.iter().map(|row| row["model"].as_str()).collect();
    let (mut within, mut all, mut errors) = (0, 0, Vec::new());
    for model in models {
        let alone: Vec<(u32, Row)> = (measured(&rows, model).into_iter())
            .filter(|(_, sharers, _)| *sharers == 1)
            .map(|(size, _, row)| (size, row))
            .collect();
        let fitted = |size: u32, batch: u32| {
            [1, 3, 7].contains(&size) && [1, 4, 16, 64, 256].contains(&batch)
        };
        let (fit, left): (Vec<_>, Vec<_>) =
            (alone.iter()).partition(|(size, row)| fitted(*size, row.batch));
        let fit: Vec<Row> = fit.into_iter().map(|(_, row)| row).collect();
        let profile = Profile::fit(&fit).unwrap();
        let miss = |row: &Row| (profile.seconds(row.batch, row.slices) / row.seconds - 1.0).abs();
        let mean = left.iter().map(|(_, row)| miss(row)).sum::<f64>() / left.len() as f64;
        let rates = highest_rates(&profile, &alone);
        within += rates.iter().filter(|error| error.abs() <= 0.1).count();
        all += rates.len();
        let worst = rates
            .iter()
            .fold(0.0_f64, |worst, error| worst.max(error.abs()));
        eprintln!(
            "{model:<12} latency {:4.1} % off on {} rows left out; highest rate {:4.1} % off in the median, {:4.1} % at worst",
            100.0 * mean,
            left.len(),
            100.0 * median(rates.iter().map(|error| error.abs()).collect()),
            100.0 * worst
        );
        errors.push(mean);
    }
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    eprintln!(
        "all: latency {:.1} % off; {within} of {all} highest rates within 10 %",
        100.0 * mean
    );
    assert!(mean < 0.06, "{mean}");
    assert!(within * 100 >= all * 75, "{within} of {all}");
}

#[test]
fn profiles_tell_what_sharers_leave_each_other() {
    let name = "profiles_tell_what_sharers_leave_each_other";
    let Some(rows) = table(name, "parvagpu_a100_mig_mps/profiles.csv") else {
        return;
    };
    let models: std::collections::BTreeSet<&str> =
        rows.iter().map(|row| row["model"].as_str()).collect();
    let mut errors = Vec::new();
    for model in models {
        let known = measured(&rows, model);
        let (fit, left): (Vec<_>, Vec<_>) = known
            .iter()
            .copied()
            .partition(|(_, sharers, _)| [1, 3].contains(sharers));
        let fit: Vec<Row> = fit.into_iter().map(|(_, _, row)| row).collect();
        let profile = Profile::fit(&fit).unwrap();
        let miss = |row: &Row| (profile.seconds(row.batch, row.slices) / row.seconds - 1.0).abs();
        let found = median(left.iter().map(|(_, _, row)| miss(row)).collect());
        eprintln!(
            "{model:<12} two, four and five sharers: latency {:4.1} % off in the median of {} rows",
            100.0 * found,
            left.len()
        );
        errors.push(found);
    }
    assert!(median(errors) < 0.12);
}

/// Coefficients of one line of the table of fits; engines of that kind hold far more than 1024 sequences.
fn engine(row: &Named) -> Engine {
    let of = |column: &str| number(row, column) / 1000.0;
    Engine {
        step_fixed: of("dec_a_ms"),
        step_per_sequence: of("dec_b_ms_per_seq"),
        step_per_context_token: of("dec_c_ms_per_ktok") / 1e3,
        prefill_fixed: of("pre_a_ms"),
        prefill_per_token: of("pre_b_ms_per_ktok") / 1e3,
        prefill_per_token_pair: of("pre_c_ms_per_ktok_kctx") / 1e6,
        most_sequences: 4096,
    }
}

#[test]
fn tokens_of_dense_models_on_hopper_take_what_was_measured() {
    let name = "tokens_of_dense_models_on_hopper_take_what_was_measured";
    let (Some(fits), Some(samples)) = (
        table(name, "aiconfigurator/fits.csv"),
        table(name, "aiconfigurator/silicon_samples_agg.csv"),
    ) else {
        return;
    };
    let mut ratios: BTreeMap<String, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for sample in &samples {
        let precision = if sample["precision"].is_empty() {
            "bfloat16"
        } else {
            &sample["precision"]
        };
        let short = sample["model"].rsplit('/').next().unwrap();
        let model = short.trim_end_matches("-FP8").trim_end_matches("-Instruct");
        let dense = model == "Qwen3-32B" || model.starts_with("Llama-3.1");
        let system = sample["system"].as_str();
        let fit = fits.iter().find(|fit| {
            fit["model"].ends_with(model)
                && fit["system"] == system
                && fit["tp"] == sample["tp"]
                && fit["gemm_quant"] == precision
        });
        let (true, Some(fit), "h100_sxm" | "h200_sxm") = (dense, fit, system) else {
            continue;
        };
        let clients = number(sample, "batch_or_concurrency");
        let shape = Shape {
            prompt: number(sample, "isl"),
            output: number(sample, "osl"),
        };
        let Some(found) = engine(fit).at_concurrency(clients, shape) else {
            continue;
        };
        let group = format!(
            "{model} {system} tp{} {precision} {}",
            sample["tp"], sample["backend"]
        );
        let of = ratios.entry(group).or_default();
        of.0.push(found.per_token * 1000.0 / number(sample, "tpot_ms"));
        of.1.push(found.first_token * 1000.0 / number(sample, "ttft_ms"));
    }
    let mut all = Vec::new();
    for (group, (per_token, first)) in ratios {
        let count = per_token.len();
        all.extend(per_token.iter().copied());
        let (per_token, first) = (median(per_token), median(first));
        eprintln!(
            "{group:<48} {count:>3} rows: time per token {per_token:.2}, to the first {first:.2} of the measured"
        );
    }
    let all_rows = all.len();
    let per_token = median(all);
    eprintln!("all {all_rows} rows: time per token {per_token:.2} of the measured in the median");
    assert!((0.9..=1.1).contains(&per_token), "{per_token}");
}
