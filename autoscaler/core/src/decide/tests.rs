//! Tests of deciding.
