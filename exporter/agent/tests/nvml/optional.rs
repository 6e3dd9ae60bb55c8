//! Rows beyond the default set, as a counters file names them: texts as labels, and what dcgm-exporter counts itself.

use crate::exporter::Exporter;

const COUNTERS: &str = "\
DCGM_FI_DEV_GPU_TEMP, gauge, Heat.
DCGM_FI_DRIVER_VERSION, label, x
DCGM_FI_NVML_VERSION, label, x
DCGM_FI_DEV_BRAND, label, x
DCGM_FI_DEV_SERIAL, label, x
DCGM_FI_DEV_VBIOS_VERSION, label, x
DCGM_FI_DEV_INFOROM_IMAGE_VER, label, x
DCGM_FI_DEV_OEM_INFOROM_VER, label, x
DCGM_FI_DEV_ECC_INFOROM_VER, label, x
DCGM_FI_DEV_POWER_INFOROM_VER, label, x
DCGM_EXP_XID_ERRORS_COUNT, gauge, x
DCGM_EXP_CLOCK_EVENTS_COUNT, gauge, x
DCGM_EXP_CLOCK_EVENTS_TOTAL, counter, x
";

#[test]
fn texts_of_a_board_are_labels_where_a_counters_file_says_so() {
    let mut exporter = Exporter::with_counters("gpu 0 board H100\n", COUNTERS);
    let name = "DCGM_FI_DEV_GPU_TEMP";
    let scrape = exporter.scrape_until("the board", |s| s.names(name) == 1);
    let line = scrape.0.lines().find(|line| line.starts_with(name));
    let labels = "Hostname=\"node-1\",DCGM_FI_DEV_BRAND=\"NVIDIA\",DCGM_FI_DEV_ECC_INFOROM_VER=\"7.16\",\
                  DCGM_FI_DEV_INFOROM_IMAGE_VER=\"G520.0200.00.05\",DCGM_FI_DEV_OEM_INFOROM_VER=\"2.1\",\
                  DCGM_FI_DEV_SERIAL=\"1320000000000\",DCGM_FI_DEV_VBIOS_VERSION=\"96.00.74.00.1A\",\
                  DCGM_FI_DRIVER_VERSION=\"590.48.01\",DCGM_FI_NVML_VERSION=\"12.590.48.01\"} 42";
    // What the driver does not tell, such as the version for power, is no label.
    assert!(line.is_some_and(|line| line.ends_with(labels)), "{line:?}");
}

#[test]
fn errors_and_lowered_clocks_are_counted_within_a_window() {
    let mut exporter = Exporter::with_counters("gpu 0 board H100\n", COUNTERS);
    let xids = "DCGM_EXP_XID_ERRORS_COUNT";
    let clocks = "DCGM_EXP_CLOCK_EVENTS_COUNT";
    let scrape = exporter.scrape_until("the board", |s| s.names(clocks) == 1);
    let window = ("window_size_in_ms", "300000");
    assert_eq!(scrape.value(xids, &[window]), Some(0.0));
    let idle = [("clock_event", "gpu_idle"), window];
    assert!(
        scrape
            .value(clocks, &idle)
            .is_some_and(|count| count >= 1.0)
    );
    let begun = "DCGM_EXP_CLOCK_EVENTS_TOTAL";
    assert_eq!(scrape.names(begun), 0, "nothing began since the start");
    exporter.becomes("gpu 0 board H100\ngpu 0 xid 94\ngpu 0 set clock_events 4\n");
    let power = [("clock_event", "power_cap")];
    let scrape = exporter.scrape_until("an error and a reason", |s| {
        s.value(xids, &[("xid", "94"), window]) == Some(1.0) && s.value(begun, &power).is_some()
    });
    assert_eq!(scrape.value(begun, &power), Some(1.0));
    assert_eq!(scrape.names(xids), 1, "no zero beside a count");
}
