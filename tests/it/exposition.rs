//! What the exporter writes, as Prometheus' own tools see it.

use std::{collections::BTreeSet, process::Command};

use tests::{product::program, prometheus::lint};

/// Boards of two generations, split and whole, so that every family has rows.
const BOARDS: &str = "2xH100-SXM5-80GB:mig=3g.40gb@4+2g.20gb@0,2xL40S";

#[test]
fn promtool_complains_of_dcgms_own_names_only() {
    let mut complained = BTreeSet::new();
    for dialect in ["4.8.2", "4.8.3"] {
        let output = Command::new(program("foresail-exporter").unwrap())
            .args(["--simulated", BOARDS, "--once", "--dialect", dialect])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("foresail_build_info"), "{text}");
        let (dcgm, others) = lint(&text).unwrap();
        assert_eq!(others, Vec::<String>::new(), "{dialect}");
        complained.extend(dcgm);
    }
    let listed =
        std::fs::read_to_string(tests::root().join("tests/config/dcgm-names.txt")).unwrap();
    let listed: BTreeSet<String> = listed
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    assert_eq!(
        complained, listed,
        "the list holds what promtool complains of, and no more"
    );
}
