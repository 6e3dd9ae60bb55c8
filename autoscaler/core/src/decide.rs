//! From needs to a number of replicas: the reactive need, the forecast need, what guards them, and
//! HPA's behavior block. Never reads a signal itself.

pub mod reason;

pub mod behavior;

pub mod guard;
