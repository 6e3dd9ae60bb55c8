//! The autoscaler: observe → plan → apply → report. Everything that decides lives in
//! `autoscaler-core`; this crate reads, writes and tells.

pub mod args;
pub mod run;

pub mod reconcile;

pub mod observe;

pub mod validate;

pub mod apply;

pub mod report;

pub mod http;

pub mod telemetry;

pub use args::Args;
