//! What is remembered between two plans: recommendation windows, scale events, learned start-up
//! times and fitted models. The small part survives a restart in the object's status; fits are
//! made again from history.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    capacity::learned::Curves,
    forecast::Fitted,
    units::{Replicas, TargetId, Timestamp},
};

/// Memory of all targets. As JSON a list of pairs, since an id is not a string.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(
    from = "Vec<(TargetId, TargetMemory)>",
    into = "Vec<(TargetId, TargetMemory)>"
)]
pub struct Memory {
    /// One entry a target that was decided on before.
    pub targets: BTreeMap<TargetId, TargetMemory>,
}

impl From<Vec<(TargetId, TargetMemory)>> for Memory {
    fn from(pairs: Vec<(TargetId, TargetMemory)>) -> Self {
        Self {
            targets: pairs.into_iter().collect(),
        }
    }
}

impl From<Memory> for Vec<(TargetId, TargetMemory)> {
    fn from(memory: Memory) -> Self {
        memory.targets.into_iter().collect()
    }
}

/// Memory of one target.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetMemory {
    /// Recommendations before stabilisation, oldest first, no older than the longest window.
    pub recommendations: Vec<(Timestamp, Replicas)>,
    /// Changes that were carried out, oldest first, no older than the longest policy period.
    pub scale_events: Vec<ScaleEvent>,
    /// The newest observed start-up times in seconds, oldest first, at most 32.
    pub startups: Vec<f64>,
    /// How latency grows with the rate of a replica, as far as it was seen.
    #[serde(default, skip_serializing_if = "Curves::is_empty")]
    pub curves: Curves,
    /// When the curves were last taught.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taught: Option<Timestamp>,
    /// The fitted forecast model; absent until there is history enough.
    pub fitted: Option<Fitted>,
    /// When this target was first decided on, or again after a break: nothing is lowered before one
    /// window of data.
    pub since: Option<Timestamp>,
}

/// A change of replicas that was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScaleEvent {
    /// When the write succeeded.
    pub time: Timestamp,
    /// Replicas added; negative when removed.
    pub change: i64,
}

impl Memory {
    /// Notes that the replicas of `target` were changed at `time`: call it only after the write
    /// succeeded, as HPA does.
    pub fn record_scaled(
        &mut self,
        target: &TargetId,
        from: Replicas,
        to: Replicas,
        time: Timestamp,
    ) {
        let memory = self.targets.entry(target.clone()).or_default();
        memory.record_scaled(from, to, time);
    }
}

/// The part of a target's memory that survives a restart: the controller keeps it as JSON with the
/// object. Fields of a later version are passed over, absent ones are empty.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Persisted {
    /// When this target was first decided on.
    pub since: Option<Timestamp>,
    /// Recommendations as `[unix seconds, replicas]`.
    pub recommendations: Vec<(Timestamp, Replicas)>,
    /// Changes that were carried out as `[unix seconds, change]`.
    pub scale_events: Vec<(Timestamp, i64)>,
    /// Observed start-up times in seconds.
    pub startups: Vec<f64>,
    /// What was learned of the capacity.
    #[serde(skip_serializing_if = "Curves::is_empty")]
    pub curves: Curves,
}

impl From<&TargetMemory> for Persisted {
    fn from(memory: &TargetMemory) -> Self {
        let event = |event: &ScaleEvent| (event.time, event.change);
        Self {
            since: memory.since,
            recommendations: memory.recommendations.clone(),
            scale_events: memory.scale_events.iter().map(event).collect(),
            startups: memory.startups.clone(),
            curves: memory.curves.clone(),
        }
    }
}

impl From<Persisted> for TargetMemory {
    /// Without a fit: that is made again from history.
    fn from(persisted: Persisted) -> Self {
        let event = |(time, change)| ScaleEvent { time, change };
        Self {
            recommendations: persisted.recommendations,
            scale_events: persisted.scale_events.into_iter().map(event).collect(),
            startups: persisted.startups,
            curves: persisted.curves,
            taught: None,
            fitted: None,
            since: persisted.since,
        }
    }
}

/// Start-up times that are remembered.
const STARTUPS: usize = 32;

impl TargetMemory {
    /// Notes that the replicas were changed at `time`: call it only after the write succeeded.
    pub fn record_scaled(&mut self, from: Replicas, to: Replicas, time: Timestamp) {
        let change = i64::from(to.0) - i64::from(from.0);
        self.scale_events.push(ScaleEvent { time, change });
    }

    /// Learns start-up times in seconds; what is not finite or negative is none.
    pub fn learn_startups(&mut self, seen: &[f64]) {
        let sound = seen
            .iter()
            .filter(|seconds| seconds.is_finite() && **seconds >= 0.0);
        self.startups.extend(sound);
        let old = self.startups.len().saturating_sub(STARTUPS);
        self.startups.drain(..old);
    }

    /// The start-up time that nine of ten replicas keep, in seconds, by nearest rank; `None` before
    /// one was observed.
    pub fn startup(&self) -> Option<f64> {
        let mut sorted = self.startups.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (sorted.len() * 9).div_ceil(10).max(1);
        sorted.get(rank - 1).copied()
    }

    /// Notes a recommendation before stabilisation. Of a run of equal ones only the newest is kept:
    /// the run is within a window exactly when its newest is.
    pub fn recommend(&mut self, time: Timestamp, replicas: Replicas) {
        match self.recommendations.last_mut() {
            Some((newest, same)) if *same == replicas => *newest = time.max(*newest),
            _ => self.recommendations.push((time, replicas)),
        }
    }

    /// Forgets what lies outside every window and in the future (a clock that was set back). The
    /// newest recommendation stays: it tells how long nothing was decided.
    pub fn prune(&mut self, now: Timestamp, window: i64, period: i64) {
        let newest = self
            .recommendations
            .iter()
            .map(|(time, _)| *time)
            .filter(|time| *time <= now);
        let from = newest
            .max()
            .map_or(now, |newest| newest.plus(-1).min(now.plus(-window)));
        self.recommendations
            .retain(|(time, _)| *time > from && *time <= now);
        self.scale_events
            .retain(|event| event.time > now.plus(-period) && event.time <= now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_small_part_survives_as_compact_json_without_the_fit() {
        let mut memory = TargetMemory {
            since: Some(Timestamp(1000)),
            ..TargetMemory::default()
        };
        memory.recommend(Timestamp(1000), Replicas(3));
        memory.recommend(Timestamp(1015), Replicas(3));
        memory.recommend(Timestamp(1030), Replicas(4));
        memory.learn_startups(&[61.5]);
        memory.scale_events.push(ScaleEvent {
            time: Timestamp(1030),
            change: -1,
        });
        let json = serde_json::to_string(&Persisted::from(&memory)).unwrap();
        assert_eq!(
            json,
            r#"{"since":1000,"recommendations":[[1015,3],[1030,4]],"scaleEvents":[[1030,-1]],"startups":[61.5]}"#
        );
        let back: Persisted = serde_json::from_str(&json).unwrap();
        assert_eq!(TargetMemory::from(back), memory);
        let later: Persisted = serde_json::from_str(r#"{"since":5,"more":1}"#).unwrap();
        assert_eq!(later.since, Some(Timestamp(5)));
    }

    #[test]
    fn the_startup_time_is_that_of_nine_in_ten_of_the_newest() {
        let mut memory = TargetMemory::default();
        assert_eq!(memory.startup(), None);
        memory.learn_startups(&[60.0, f64::NAN, -1.0]);
        assert_eq!(memory.startup(), Some(60.0));
        memory.learn_startups(&(1..=10).map(f64::from).collect::<Vec<_>>());
        assert_eq!(
            memory.startup(),
            Some(10.0),
            "60 s of one in eleven is left out"
        );
        memory.learn_startups(&[7.0; 40]);
        assert_eq!(memory.startups, [7.0; 32]);
    }

    #[test]
    fn pruning_keeps_the_windows_and_the_newest() {
        let mut memory = TargetMemory::default();
        for time in [100, 400, 401, 2000] {
            memory.recommendations.push((Timestamp(time), Replicas(1)));
            memory.scale_events.push(ScaleEvent {
                time: Timestamp(time),
                change: 1,
            });
        }
        memory.prune(Timestamp(700), 300, 15);
        assert_eq!(memory.recommendations, [(Timestamp(401), Replicas(1))]);
        assert_eq!(memory.scale_events, []);
        memory.prune(Timestamp(5000), 300, 15);
        assert_eq!(memory.recommendations, [(Timestamp(401), Replicas(1))]);
    }
}
