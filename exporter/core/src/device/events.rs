//! What happened to a GPU lately: events with their times, so that they can be counted over a window. Keeps no clock.

use std::collections::{BTreeMap, VecDeque};

/// Events kept; of more in one window the oldest are forgotten.
const MOST: usize = 4096;

/// Events of one kind by code, oldest first.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Recent {
    seen: VecDeque<(f64, u64)>,
}

impl Recent {
    /// Notes an event at `now`, in unix seconds.
    pub fn note(&mut self, now: f64, code: u64) {
        if self.seen.len() == MOST {
            self.seen.pop_front();
        }
        self.seen.push_back((now, code));
    }

    /// The codes of the last `seconds` before `now`.
    pub fn within(&self, now: f64, seconds: f64) -> impl Iterator<Item = u64> + '_ {
        let since = now - seconds;
        self.seen
            .iter()
            .filter(move |(at, _)| *at > since)
            .map(|(_, code)| *code)
    }
}

/// Reasons for lowered clocks from gather to gather: how often each began, and which held at each gather.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ClockEvents {
    /// Bits at the last gather; `None` before the first, whose reasons did not begin here.
    before: Option<u64>,
    begun: BTreeMap<u64, u64>,
    /// Bits at each gather.
    pub held: Recent,
}

impl ClockEvents {
    /// Takes the bits of a gather at `now`, in unix seconds.
    pub fn observe(&mut self, now: f64, bits: u64) {
        let new = self.before.map_or(0, |before| bits & !before);
        for (_, bit) in super::health::CLOCK_EVENTS {
            if new & bit != 0 {
                *self.begun.entry(bit).or_default() += 1;
            }
        }
        self.before = Some(bits);
        self.held.note(now, bits);
    }

    /// How often the reason with that bit began since the exporter watches; `None`: never.
    pub fn begun(&self, bit: u64) -> Option<u64> {
        self.begun.get(&bit).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_forgets_what_is_older() {
        let mut recent = Recent::default();
        for (at, code) in [(100.0, 13), (200.0, 79), (300.0, 79)] {
            recent.note(at, code);
        }
        let within = |now, seconds| recent.within(now, seconds).collect::<Vec<_>>();
        assert_eq!(within(300.0, 150.0), [79, 79]);
        assert_eq!(within(300.0, 100.0), [79], "the edge is outside");
        assert_eq!(within(1000.0, 300.0), [0; 0]);
    }

    #[test]
    fn events_without_end_are_bounded() {
        let mut recent = Recent::default();
        for at in 0..10_000 {
            recent.note(f64::from(at), 1);
        }
        assert_eq!(recent.within(10_000.0, 1e9).count(), MOST);
    }

    #[test]
    fn a_reason_is_counted_when_it_begins_and_not_at_the_start() {
        let mut events = ClockEvents::default();
        for (at, bits) in [(1.0, 0x1), (2.0, 0x5), (3.0, 0x4), (4.0, 0x0), (5.0, 0x4)] {
            events.observe(at, bits);
        }
        assert_eq!((events.begun(0x4), events.begun(0x1)), (Some(2), None));
        let power = events.held.within(5.0, 10.0).filter(|bits| bits & 4 != 0);
        assert_eq!(power.count(), 3);
    }
}
