//! Tests of observing.
