//! Everything that decides: observations in, a complete plan out. Never names a client, a clock, a
//! file, a thread or the environment; `now` is an argument and maps are ordered, so the same input
//! gives the same plan.

pub mod units;

pub mod series;

pub mod snapshot;

pub mod memory;

pub mod forecast;

pub mod capacity;

pub mod decide;

pub mod plan;

pub mod observe;

pub mod check;

pub mod explain;
