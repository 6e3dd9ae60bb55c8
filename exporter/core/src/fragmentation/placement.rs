//! What position costs on a partitioned board: how many instances of each profile fit now, how many would fit if the
//! present ones were moved together, and which slices nothing can use. Profiles and placements are the driver's;
//! nothing here knows a board. The count of a profile assumes that nothing else is created beside it.

use std::collections::BTreeSet;

use crate::device::{Layout, Profile, Span};

/// Slices of a board as bits; a board of more slices than this is not measured.
const MOST_SLICES: u32 = 64;

/// Free or occupied memory slices, bit `n` for slice `n`.
type Slices = u64;

/// What fits on a board.
#[derive(Clone, Debug, PartialEq)]
pub struct Placeable {
    /// By profile, in the driver's order.
    pub profiles: Vec<Fit>,
    /// Memory slices in no instance, and those of them that no further instance could take.
    pub memory: Free,
    /// Compute slices in no instance, and those of them that no further instance could take.
    pub compute: Free,
    /// 0 to 1: see [`fragmentation_ratio`].
    pub ratio: f64,
}

/// How many more instances of one profile fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// The profile's name.
    pub profile: String,
    /// As things lie now.
    pub now: u32,
    /// If the present instances were placed anew in the best way for this profile.
    pub compacted: u32,
}

/// Slices in no instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Free {
    /// All of them.
    pub free: u32,
    /// Those that stay unused whatever is created now.
    pub stranded: u32,
}

/// What fits on the board of `layout`; `None` when the driver's tables contradict themselves: an instance of a
/// profile that is not listed, slices taken twice, or a board of more than 64 slices.
pub fn placeable(layout: &Layout) -> Option<Placeable> {
    let profiles = &layout.profiles;
    let ends = profiles.iter().flat_map(|profile| &profile.placements);
    let grid = ends
        .map(|span| span.start.saturating_add(span.size))
        .max()?;
    if grid > MOST_SLICES {
        return None;
    }
    let mut occupied: Slices = 0;
    for instance in &layout.instances {
        let bits = bits(instance.span);
        if bits == 0 || occupied & bits != 0 {
            return None;
        }
        occupied |= bits;
    }
    let present = present(layout)?;
    let arrangements = arrangements(&present);
    let fits: Vec<Fit> = profiles
        .iter()
        .map(|profile| {
            let existing = layout.instances.iter().filter(|i| i.profile == profile.id);
            let left = profile
                .most
                .saturating_sub(u32::try_from(existing.count()).unwrap_or(u32::MAX));
            let room = |taken: Slices| best(grid, taken, &[(profile, 1)]).min(left);
            Fit {
                profile: profile.name.clone(),
                now: room(occupied),
                compacted: arrangements
                    .iter()
                    .map(|taken| room(*taken))
                    .max()
                    .unwrap_or(0),
            }
        })
        .collect();
    let compute = compute_slices(layout, &present, grid, occupied);
    let by_memory: Vec<_> = profiles.iter().map(|p| (p, size(p))).collect();
    let free = grid - occupied.count_ones().min(grid);
    Some(Placeable {
        ratio: fragmentation_ratio(profiles, &fits),
        profiles: fits,
        memory: Free {
            free,
            stranded: free - best(grid, occupied, &by_memory).min(free),
        },
        compute,
    })
}

/// The mean, over the shapes of instance that would fit after compaction, of the share that does not fit now; 0 when
/// no shape would. Profiles with the same placements and compute slices (`1g.10gb`, `1g.10gb+me`) are one shape.
fn fragmentation_ratio(profiles: &[Profile], fits: &[Fit]) -> f64 {
    let mut shapes: Vec<(&Profile, &Fit)> = Vec::new();
    for (profile, fit) in profiles.iter().zip(fits) {
        let same = |(other, _): &&mut (&Profile, &Fit)| {
            other.slices == profile.slices && other.placements == profile.placements
        };
        match shapes.iter_mut().find(same) {
            None => shapes.push((profile, fit)),
            Some(kept) if kept.0.most < profile.most => *kept = (profile, fit),
            Some(_) => {}
        }
    }
    let lost: Vec<f64> = (shapes.iter())
        .filter(|(_, fit)| fit.compacted > 0)
        .map(|(_, fit)| 1.0 - f64::from(fit.now) / f64::from(fit.compacted))
        .collect();
    if lost.is_empty() {
        return 0.0;
    }
    lost.iter().sum::<f64>() / lost.len() as f64
}

/// The profile of each present instance.
fn present(layout: &Layout) -> Option<Vec<&Profile>> {
    let of = |id: u32| layout.profiles.iter().find(|profile| profile.id == id);
    layout.instances.iter().map(|i| of(i.profile)).collect()
}

/// Every set of slices that instances of these profiles can take together.
fn arrangements(present: &[&Profile]) -> BTreeSet<Slices> {
    let mut taken = BTreeSet::from([0]);
    for profile in present {
        let places = || profile.placements.iter().map(|span| bits(*span));
        let with = |before: &Slices| {
            let before = *before;
            let free = move |place: &Slices| before & place == 0;
            places()
                .filter(free)
                .map(move |place| before | place)
                .collect::<Vec<_>>()
        };
        taken = taken.iter().flat_map(with).collect();
    }
    taken
}

/// Compute slices: those of the largest profile, without those in use.
fn compute_slices(layout: &Layout, present: &[&Profile], grid: u32, occupied: Slices) -> Free {
    let slices = layout.profiles.iter().map(|profile| profile.slices);
    let used: u32 = present.iter().map(|profile| profile.slices).sum();
    let free = slices.max().unwrap_or(0).saturating_sub(used);
    let weighed: Vec<_> = layout.profiles.iter().map(|p| (p, p.slices)).collect();
    Free {
        free,
        stranded: free - best(grid, occupied, &weighed).min(free),
    }
}

/// The highest sum of weights over placements that overlap neither each other nor what is taken. Best sums are found
/// from the last slice backwards: leave a slice, or start an instance there.
fn best(grid: u32, taken: Slices, weighed: &[(&Profile, u32)]) -> u32 {
    let mut from = vec![0_u32; grid as usize + 1];
    for slice in (0..grid).rev() {
        let mut most = from[slice as usize + 1];
        for (profile, weight) in weighed {
            let starts = |span: &&Span| span.start == slice && taken & bits(**span) == 0;
            for span in profile.placements.iter().filter(starts) {
                most = most.max(weight + from[(slice + span.size) as usize]);
            }
        }
        from[slice as usize] = most;
    }
    from[0]
}

fn size(profile: &Profile) -> u32 {
    profile.placements.first().map_or(0, |span| span.size)
}

/// The slices of a span; none when it lies outside what can be measured.
fn bits(span: Span) -> Slices {
    if span.size == 0 || span.start.saturating_add(span.size) > MOST_SLICES {
        return 0;
    }
    let ones = Slices::MAX >> (MOST_SLICES - span.size);
    ones << span.start
}

#[cfg(test)]
mod tests;
