//! Counters files, good and bad.

use super::*;
use crate::contract::Version;

fn read(text: &str) -> Result<(Contract, Vec<Left>), CountersError> {
    Contract::read(text, Dialect::default())
}

#[test]
fn a_file_replaces_the_default_set() {
    let text = "# DCGM FIELD, Prometheus metric type, help message\n\n\
        DCGM_FI_DEV_DEC_UTIL ,     gauge, Decoder utilization (in %).\n\
        DCGM_FI_DEV_BOARD_POWER_WATTS, counter,\"\"\n\
        DCGM_FI_SYSTEM_DRIVER_VERSION, label, Driver Version\n";
    let (contract, left) = read(text).unwrap();
    assert_eq!(left, []);
    assert_eq!(contract.rows.len(), 2);
    let power = contract.heading(&dcgm::POWER_USAGE).unwrap();
    let expected = ("DCGM_FI_DEV_BOARD_POWER_WATTS", "counter", "");
    assert_eq!(
        (power.name, power.kind, &*power.help),
        expected,
        "as the file spells it"
    );
    assert_eq!(contract.heading(&dcgm::GPU_TEMP), None);
    let labels: Vec<_> = contract.fields_as_labels().collect();
    assert_eq!(
        labels,
        [("DCGM_FI_SYSTEM_DRIVER_VERSION", "DCGM_FI_DRIVER_VERSION")]
    );
}

#[test]
fn what_is_wrong_is_said_with_line_and_field() {
    for (text, message) in [
        (
            "# x\nDCGM_FI_DEV_GPU_TMP, gauge, x",
            "line 2: DCGM has no field \"DCGM_FI_DEV_GPU_TMP\"; its names stand in dcgm_fields.h of DCGM",
        ),
        (
            "gpu_temp, gauge, x",
            "line 1: DCGM has no field \"gpu_temp\"; write DCGM_FI_DEV_GPU_TEMP",
        ),
        (
            "\tDCGM_FI_DEV_GPU_TEMP, gauge, x",
            "line 1: DCGM has no field \"\\tDCGM_FI_DEV_GPU_TEMP\"; write DCGM_FI_DEV_GPU_TEMP",
        ),
        (
            "DCGM_FI_DEV_GPU_TEMP, gauge, a, b",
            "line 1: 4 fields instead of 3; write NAME, TYPE, HELP, and quote a help text that has a comma",
        ),
        (
            "DCGM_FI_DEV_GPU_TEMP, gauge, x\n # indented comment",
            "line 2: 1 fields instead of 3; write NAME, TYPE, HELP, and quote a help text that has a comma",
        ),
        (
            "DCGM_FI_DEV_GPU_TEMP, guage, x",
            "line 1: DCGM_FI_DEV_GPU_TEMP: \"guage\" is no type; write gauge, counter or label",
        ),
        (
            "DCGM_FI_DRIVER_VERSION, gauge, x",
            "line 1: DCGM_FI_DRIVER_VERSION is a text; write the type label",
        ),
        (
            "DCGM_FI_DEV_GPU_TEMP, gauge, \"x\"",
            "line 1: a quote stands inside a field or has no end; quote a whole field, and its quotes twice",
        ),
    ] {
        assert_eq!(read(text).unwrap_err().to_string(), message);
    }
}

#[test]
fn what_is_known_and_not_served_is_left_out_aloud() {
    let text = "DCGM_FI_PROF_NVLINK_TX_BYTES, gauge, x\nDCGM_EXP_P2P_STATUS, counter, x\n\
        DCGM_FI_DEV_GPU_TEMP, label, x\nDCGM_FI_DEV_SM_CLOCK, gauge, x\ndcgm_sm_clock, gauge, x\n";
    let (contract, left) = read(text).unwrap();
    assert_eq!(contract.rows.len(), 1);
    let lines: Vec<usize> = left.iter().map(|left| left.line).collect();
    assert_eq!(lines, [1, 2, 3, 5]);
    assert!(left.iter().all(|left| !left.why.is_empty()));
}

/// The rows of `file`, with those in comments when `all`; `None`, said aloud, where the folder is absent.
#[expect(
    clippy::disallowed_methods,
    reason = "NVIDIA's files lie on disk, outside of the repository"
)]
fn rows_of(file: &str, all: bool) -> Option<String> {
    let root = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/captures/dcgm-exporter/"
    );
    let Ok(text) = std::fs::read_to_string(format!("{root}{file}")) else {
        eprintln!("skipped: ../shared is absent, so {file} cannot be read");
        return None;
    };
    let uncommented = |line: &str| {
        let bare = line.trim_start_matches("# ");
        let row = all && bare.starts_with("DCGM_");
        format!("{}\n", if row { bare } else { line })
    };
    Some(text.lines().map(uncommented).collect())
}

#[test]
fn nvidias_own_files_are_the_default_set() {
    let default = Contract::new(Dialect::of(Version::V482));
    for file in ["default-counters.csv", "dcp-metrics-included.csv"] {
        let Some(text) = rows_of(file, false) else {
            return;
        };
        let (mut contract, left) = read(&text).unwrap();
        assert_eq!(left, []);
        for metric in dcgm::optional::LIMITS {
            contract.rows.extend(
                default
                    .rows
                    .get_key_value(metric.name)
                    .map(|(k, v)| (*k, v.clone())),
            );
        }
        assert_eq!(contract, default, "{file}");
    }
}

#[test]
fn rows_in_comments_are_served_but_for_those_listed() {
    let Some(text) = rows_of("default-counters.csv", true) else {
        return;
    };
    let (_, left) = read(&text).unwrap();
    let names: Vec<&str> = left.iter().map(|left| left.name).collect();
    let mut expected = vec![
        "DCGM_EXP_GPU_HEALTH_STATUS",
        "DCGM_EXP_P2P_STATUS",
        "DCGM_FI_DEV_NVLINK_BANDWIDTH_L0",
    ];
    // In a comment as counters, which is refused as a second row.
    expected.extend(["DCGM_FI_PROF_PCIE_TX_BYTES", "DCGM_FI_PROF_PCIE_RX_BYTES"]);
    assert_eq!(names, expected);
}
