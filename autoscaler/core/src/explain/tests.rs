//! Tests of `explain`.
