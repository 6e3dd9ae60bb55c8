//! What the exporter writes, as Prometheus' own tools see it.

use std::process::Command;

use tests::{product::program, prometheus::lint};

/// Boards of two generations, split and whole, so that every family has rows.
const BOARDS: &str = "2xH100-SXM5-80GB:mig=3g.40gb@4+2g.20gb@0,2xL40S";

#[test]
fn promtool_complains_of_dcgms_own_names_only() {
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
        assert_eq!(lint(&text).unwrap(), Vec::<String>::new(), "{dialect}");
    }
}
