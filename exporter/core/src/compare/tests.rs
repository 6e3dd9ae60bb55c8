//! A dcgm-exporter's exposition, written by hand in its form, beside what Foresail serves of the same node.

use super::*;
use crate::{
    collect::{collect, golden},
    exposition::text::render,
    simulated::fleet::Fleet,
};

const HEAD: &str = "gpu=\"0\",UUID=\"GPU-1\",device=\"nvidia0\"";

fn of(there: &str, here: &str) -> Comparison {
    Comparison::of(there, here).unwrap()
}

#[test]
fn the_same_is_no_difference() {
    let text = format!("# TYPE A gauge\nA{{{HEAD}}} 1\nA{{{HEAD},GPU_I_ID=\"3\"}} 2\nB 4\n");
    let comparison = of(&text, &text);
    assert!(!comparison.changes_what_was());
    assert_eq!(comparison.same, 3);
    let more = of(&text, &format!("{text}C 1\n"));
    assert!(!more.changes_what_was(), "a gain hurts nobody");
    assert_eq!(more.gained, [("C".to_string(), Labels::new())]);
}

#[test]
fn a_series_is_followed_by_what_it_is_about() {
    let there = format!(
        "A{{{HEAD},GPU_I_ID=\"3\",hostname=\"n\",pod=\"p\"}} 1\nA{{{HEAD},hostname=\"n\"}} 1\n"
    );
    let here =
        format!("A{{{HEAD},Hostname=\"n\"}} 7\nA{{{HEAD},Hostname=\"n\",GPU_I_ID=\"4\"}} 7\n");
    let comparison = of(&there, &here);
    assert_eq!(
        (comparison.lost.len(), comparison.gained.len()),
        (1, 1),
        "another instance"
    );
    let [one] = &comparison.relabelled[..] else {
        panic!("{comparison}");
    };
    assert_eq!(differences(&one.there, &one.here), ["hostname -> Hostname"]);
}

#[test]
fn no_exposition_is_an_error_with_its_line() {
    let error = Comparison::of("A 1\n<html>\n", "").unwrap_err();
    assert_eq!(error.line, 2);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the exposition lies on disk")]
fn a_swap_is_judged_before_it_is_made() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/golden/compare/dcgm-exporter.txt"
    );
    let there = std::fs::read_to_string(file).unwrap();
    let mut fleet = Fleet::new(&"1xH100-SXM5-80GB:mig=3g.40gb@4,1xL4".parse().unwrap(), 7);
    fleet.advance(60.0, &[0.7, 0.5]);
    let mut families = collect(&fleet.snapshot(1_800_000_000.0, "node-1"), "0.0.0");
    // Foresail's own are gained as a whole; here they would only hide the rest.
    families.retain(|family| family.metric.name.starts_with("DCGM_"));
    let here = render(&families);
    golden("golden/compare/report.txt", &of(&there, &here).to_string());
}
