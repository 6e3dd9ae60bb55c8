//! A small cluster in a computer, running the same core as the controller: a fluid model of one service,
//! the same load under several policies, and their scores. Never reads a clock: the caller says how much
//! time passes.

pub mod cluster;

pub mod policy;

pub mod world;
