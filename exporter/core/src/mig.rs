//! MIG of the boards known here: profiles, where they may lie, and whole layouts. The driver of a real
//! board is the authority; these tables serve simulation and tests.

pub mod profile;

pub mod boards;

pub mod placement;

pub mod geometry;
