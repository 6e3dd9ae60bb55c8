//! What guards a number of replicas before the behavior block sees it: data that does not carry a
//! decrease, the time after a start, a rollout, and what the owner has paused. Guards only ever hold
//! back; none of them wants anything itself.

use crate::{
    decide::reason::LimiterKind,
    memory::TargetMemory,
    series::Quality,
    snapshot::{Fallback, Paused},
    units::{Replicas, Timestamp},
};

/// What keeps replicas from being lowered at the moment, the first that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Quality of all that the decision rests on.
    pub quality: Quality,
    /// Whether it has not been looked at for long enough.
    pub warming_up: bool,
    /// Whether a rollout is in progress.
    pub rolling_out: bool,
}

impl Hold {
    /// The limiter that forbids to lower, if any.
    pub fn kind(self) -> Option<LimiterKind> {
        if !self.quality.may_lower() {
            Some(LimiterKind::DataQuality)
        } else if self.warming_up {
            Some(LimiterKind::WarmUp)
        } else if self.rolling_out {
            Some(LimiterKind::Rollout)
        } else {
            None
        }
    }
}

/// What the fallback asks for when the load is stale or missing.
pub fn fallback(fallback: Fallback, current: Replicas) -> Replicas {
    match fallback {
        Fallback::Hold => current,
        Fallback::Replicas(replicas) => replicas,
        Fallback::Higher(replicas) => replicas.max(current),
    }
}

/// What the owner's pause leaves of a change.
pub fn paused(paused: Paused, from: Replicas, to: Replicas) -> Replicas {
    match paused {
        Paused::None => to,
        Paused::All => from,
        Paused::ScaleUp => to.min(from),
        Paused::ScaleDown => to.max(from),
    }
}

/// Since when this target has been looked at without a break. A break longer than the window (and
/// two ticks) counts as a new start: the window would be empty, and the first low value would be
/// acted on at once.
pub fn since(memory: &TargetMemory, now: Timestamp, window: i64, tick: i64) -> Timestamp {
    let Some(since) = memory.since.filter(|since| *since <= now) else {
        return now;
    };
    let newest = memory.recommendations.iter().map(|(time, _)| *time).max();
    let seen = newest.map_or(since, |time| time.max(since));
    let most = window.saturating_add(tick.max(0).saturating_mul(2));
    if now.since(seen) > most { now } else { since }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_does_not_carry_a_decrease_is_named_first() {
        let hold = |quality, warming_up, rolling_out| {
            Hold {
                quality,
                warming_up,
                rolling_out,
            }
            .kind()
        };
        for quality in [Quality::Partial, Quality::Stale, Quality::Missing] {
            assert_eq!(hold(quality, true, true), Some(LimiterKind::DataQuality));
        }
        for quality in [Quality::Ok, Quality::Idle] {
            assert_eq!(hold(quality, true, true), Some(LimiterKind::WarmUp));
            assert_eq!(hold(quality, false, true), Some(LimiterKind::Rollout));
            assert_eq!(hold(quality, false, false), None);
        }
    }

    #[test]
    fn only_an_explicit_number_lowers_as_fallback() {
        let at = Replicas(5);
        assert_eq!(fallback(Fallback::Hold, at), at);
        assert_eq!(fallback(Fallback::Higher(Replicas(3)), at), at);
        assert_eq!(fallback(Fallback::Higher(Replicas(8)), at), Replicas(8));
        assert_eq!(fallback(Fallback::Replicas(Replicas(3)), at), Replicas(3));
    }

    #[test]
    fn a_pause_holds_its_own_direction() {
        let (low, high) = (Replicas(3), Replicas(8));
        for (pause, down, up) in [
            (Paused::None, low, high),
            (Paused::All, high, low),
            (Paused::ScaleUp, low, low),
            (Paused::ScaleDown, high, high),
        ] {
            assert_eq!(paused(pause, high, low), down, "{pause:?}");
            assert_eq!(paused(pause, low, high), up, "{pause:?}");
        }
    }

    #[test]
    fn a_break_longer_than_the_window_is_a_new_start() {
        let now = Timestamp(10_000);
        let memory = |since: i64, newest: i64| TargetMemory {
            since: Some(Timestamp(since)),
            recommendations: vec![(Timestamp(newest), Replicas(3))],
            ..TargetMemory::default()
        };
        assert_eq!(since(&TargetMemory::default(), now, 300, 15), now);
        assert_eq!(since(&memory(5_000, 9_985), now, 300, 15), Timestamp(5_000));
        assert_eq!(since(&memory(5_000, 9_670), now, 300, 15), Timestamp(5_000));
        assert_eq!(since(&memory(5_000, 9_669), now, 300, 15), now);
        // A tick longer than the window is no break.
        assert_eq!(
            since(&memory(5_000, 9_400), now, 300, 600),
            Timestamp(5_000)
        );
        // A clock that was set back.
        assert_eq!(since(&memory(20_000, 20_000), now, 300, 15), now);
    }
}
