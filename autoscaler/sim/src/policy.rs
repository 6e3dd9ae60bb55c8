//! Who decides: Foresail's core, and what it is compared with.

pub mod foresail;

pub mod hpa;
