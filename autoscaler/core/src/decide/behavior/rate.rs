//! Rate policies on what was carried out, as HPA has them: how far one decision may go, given the
//! changes of each policy's period.

use crate::{
    decide::behavior::{RateKind, RatePolicy, Rules, SelectPolicy},
    memory::ScaleEvent,
    units::{Replicas, Timestamp},
};

/// The most replicas that the policies allow now; never below `current`.
pub fn upper_limit(
    rules: &Rules,
    events: &[ScaleEvent],
    now: Timestamp,
    current: Replicas,
) -> Replicas {
    let proposals = rules.policies.iter().map(|policy| {
        let start = period_start(policy, events, now, current);
        let value = i64::from(policy.value);
        match policy.kind {
            RateKind::Pods => start + value,
            // Rounded up: 100 % of 3 allows 6, 10 % of 1 allows 2.
            RateKind::Percent => whole((start as f64 * (1.0 + share(policy))).ceil()),
        }
    });
    let limit = match rules.select_policy {
        SelectPolicy::Max => proposals.max(),
        SelectPolicy::Min => proposals.min(),
        SelectPolicy::Disabled => None,
    };
    limit.map_or(current, replicas).max(current)
}

/// The fewest replicas that the policies allow now; never above `current`.
pub fn lower_limit(
    rules: &Rules,
    events: &[ScaleEvent],
    now: Timestamp,
    current: Replicas,
) -> Replicas {
    let proposals = rules.policies.iter().map(|policy| {
        let start = period_start(policy, events, now, current);
        let value = i64::from(policy.value);
        match policy.kind {
            RateKind::Pods => start - value,
            // Truncated towards 0: a share always lets at least one pod go.
            RateKind::Percent => whole(start as f64 * (1.0 - share(policy))),
        }
    });
    let limit = match rules.select_policy {
        SelectPolicy::Max => proposals.min(),
        SelectPolicy::Min => proposals.max(),
        SelectPolicy::Disabled => None,
    };
    limit.map_or(current, replicas).min(current)
}

/// Replicas at the start of the policy's period: what is there, without what was added and with
/// what was removed since.
fn period_start(
    policy: &RatePolicy,
    events: &[ScaleEvent],
    now: Timestamp,
    current: Replicas,
) -> i64 {
    let cutoff = now.plus(-policy.period_seconds);
    let changes = events.iter().filter(|event| event.time > cutoff);
    let change = changes.fold(0_i64, |sum, event| sum.saturating_add(event.change));
    // Bounded so that a share of it stays within i64; no real count comes near.
    let bound = i64::from(u32::MAX);
    i64::from(current.0)
        .saturating_sub(change)
        .clamp(-bound, bound)
}

/// Per cent as a share. In floating point as in HPA, whose rounding is part of its semantics:
/// 10 % more than 100 are 111 there, since 100 × 1.1 lies just above 110.
fn share(policy: &RatePolicy) -> f64 {
    f64::from(policy.value) / 100.0
}

/// Truncated towards 0; within ±u32² after the bounds above, so always exact.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a float to integer cast saturates"
)]
fn whole(value: f64) -> i64 {
    value as i64
}

fn replicas(count: i64) -> Replicas {
    Replicas(u32::try_from(count.max(0)).unwrap_or(u32::MAX))
}
