//! GPUs and load that do not exist, for trying out and for tests: seeded, with time as an argument, so
//! the same seed gives the same values. Nothing here is presented as a measurement.

pub mod board;

pub mod spec;

pub mod fleet;

pub mod load;

mod gpu;

/// A number in 0..1 that depends on nothing but its arguments (`SplitMix64`'s output function).
fn noise(seed: u64, stream: u64, step: u64) -> f64 {
    let mut z = seed
        .wrapping_add(stream.wrapping_mul(0xA076_1D64_78BD_642F))
        .wrapping_add(step.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    for _ in 0..2 {
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
    }
    (z >> 11) as f64 / (1_u64 << 53) as f64
}
