//! A small cluster in a computer, running the same core as the controller. Two worlds: a fluid model that the
//! demo shows, and one of single requests in which Foresail and its rivals are compared. Never reads a
//! clock: the caller says how much time passes.

pub mod cluster;

pub mod policy;

pub mod world;

pub mod event;

pub mod scenario;

pub mod workload;

pub mod server;

pub mod service;

pub mod score;

pub mod replay;
