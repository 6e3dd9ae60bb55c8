//! What the label `err_msg` says about an Xid: the headings of NVIDIA's public Xid catalogue for the
//! codes that call for action, else that it is unknown here.

/// Text of an Xid code; 0 means that none came.
pub(super) fn message(code: u64) -> &'static str {
    match code {
        0 => "No Error",
        13 => "Graphics Engine Exception",
        31 => "GPU memory page fault",
        43 => "GPU stopped processing",
        45 => "Preemptive cleanup, due to previous errors",
        48 => "Double Bit ECC Error",
        62 => "Internal micro-controller halt",
        63 => "ECC page retirement or row remapping recording event",
        64 => "ECC page retirement or row remapper recording failure",
        74 => "NVLINK Error",
        79 => "GPU has fallen off the bus",
        94 => "Contained ECC error",
        95 => "Uncontained ECC error",
        119 => "GSP RPC Timeout",
        120 => "GSP Error",
        _ => "Unknown Error",
    }
}
