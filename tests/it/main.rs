//! Every test that looks at the whole repository or needs real programs; one binary, so that the
//! libraries are linked once. Never holds a test that a single crate could hold.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod alerts;
mod bad_input;
mod capacity;
mod charts;
mod control_plane;
mod docs;
mod end_to_end;
mod exposition;
mod inference;
mod live;
mod rights;
mod tidy;
mod twins;
