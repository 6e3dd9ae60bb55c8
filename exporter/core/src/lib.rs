//! What the metrics of a GPU node are: readings, names, exposition, and a simulated fleet that speaks
//! them. Never reads a clock, a file, the environment or a socket; time is an argument.

pub mod reading;

pub mod device;

pub mod mig;

pub mod pod;

pub mod queue;

pub mod attribution;

pub mod snapshot;

pub mod fragmentation;

pub mod diagnosis;

pub mod leak;

pub mod catalog;

pub mod contract;

pub mod exposition;

pub mod collect;

pub mod lent;

pub mod compare;

pub mod simulated;
