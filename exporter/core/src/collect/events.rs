//! What dcgm-exporter counts itself: Xid errors and reasons for lowered clocks, since the start and within a window.

use std::collections::BTreeMap;

use super::{Families, Labels};
use crate::{
    catalog::dcgm::optional,
    device::{Gpu, health::CLOCK_EVENTS},
    exposition::text::Value,
};

/// Errors by code.
pub(super) fn xids(families: &mut Families, labels: &Labels, gpu: &Gpu, now: f64) {
    let Some(xids) = gpu.xids.value() else {
        return;
    };
    let mut labels = labels.clone();
    for (code, xid) in xids.codes() {
        labels.insert("xid", code.to_string());
        let count = Value::Whole(xid.count);
        families.add(&optional::XID_ERRORS_TOTAL, &labels, count);
    }
    let window = families.contract.windows.xids;
    labels.remove("xid");
    labels.insert("window_size_in_ms", window.as_millis().to_string());
    let mut counts = BTreeMap::<u64, u64>::new();
    for code in xids.recent.within(now, window.as_secs_f64()) {
        *counts.entry(code).or_default() += 1;
    }
    if counts.is_empty() {
        // As dcgm-exporter: a window without errors is one series without a code.
        families.add(&optional::XID_ERRORS_COUNT, &labels, Value::Whole(0));
    }
    for (code, count) in counts {
        labels.insert("xid", code.to_string());
        families.add(&optional::XID_ERRORS_COUNT, &labels, Value::Whole(count));
    }
}

/// Reasons for lowered clocks.
pub(super) fn clocks(families: &mut Families, labels: &Labels, gpu: &Gpu, now: f64) {
    let Some(events) = gpu.clock_events.value() else {
        return;
    };
    let window = families.contract.windows.clock_events;
    let seconds = window.as_secs_f64();
    for (name, bit) in CLOCK_EVENTS {
        let mut labels = labels.clone();
        labels.insert("clock_event", name.to_owned());
        if let Some(count) = events.begun(bit) {
            families.add(&optional::CLOCK_EVENTS_TOTAL, &labels, Value::Whole(count));
        }
        let held = events.held.within(now, seconds);
        let held = held.filter(|bits| bits & bit != 0).count() as u64;
        if held > 0 {
            labels.insert("window_size_in_ms", window.as_millis().to_string());
            families.add(&optional::CLOCK_EVENTS_COUNT, &labels, Value::Whole(held));
        }
    }
}
