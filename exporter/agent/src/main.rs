//! `foresail-exporter`: reads the GPUs of a node and serves them to Prometheus.

mod source;

fn main() {}
