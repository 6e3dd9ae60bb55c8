//! What a counter gained in a second, from two readings of it. The driver's counters can wrap at 32 bits and start anew
//! with the driver; neither shows as a negative or a gigantic rate.

use std::time::Instant;

/// A counter as last read.
#[derive(Default)]
pub(super) struct Rate {
    last: Option<(u64, Instant)>,
}

impl Rate {
    /// Gain per second since the last reading; `None` at the first one and after a counter of 64 bits went back.
    pub(super) fn per_second(&mut self, count: u64, now: Instant) -> Option<f64> {
        let (before, then) = self.last.replace((count, now))?;
        let seconds = now.saturating_duration_since(then).as_secs_f64();
        (seconds > 0.0).then_some(gained(before, count)? as f64 / seconds)
    }
}

/// A lower count of a small counter has wrapped once; one above 32 bits cannot have.
fn gained(before: u64, count: u64) -> Option<u64> {
    let wraps = u64::from(u32::MAX) + 1;
    match count.checked_sub(before) {
        Some(gained) => Some(gained),
        None if before < wraps => Some(count + wraps - before),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn counters_wrap_restart_and_begin() {
        let start = Instant::now();
        let mut rate = Rate::default();
        let mut read =
            |count, seconds| rate.per_second(count, start + Duration::from_secs(seconds));
        assert_eq!(read(4_294_967_000, 0), None, "the first");
        assert_eq!(read(704, 10), Some(100.0), "wrapped at 32 bits");
        assert_eq!(read(704, 10), None, "no time has passed");
        assert_eq!(read(1 << 40, 20).map(f64::round), Some(109_951_162_707.0));
        assert_eq!(read(7, 30), None, "restarted");
    }
}
