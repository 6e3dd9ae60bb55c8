//! A whole layout of one board: which profiles lie where. Never holds one that the board refuses.

use super::{
    placement::Placement,
    profile::{Board, Profile},
};

/// A legal layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    board: &'static Board,
    placed: Vec<(&'static Profile, u32)>,
}

/// Why a layout is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    /// The board has no such profile.
    #[error("{placement}: this board has no profile of that name; it has {known}")]
    Profile {
        /// What was asked.
        placement: Placement,
        /// Names of the board's profiles.
        known: String,
    },
    /// The profile may not start there.
    #[error("{placement}: this profile may start at {starts} only")]
    Start {
        /// What was asked.
        placement: Placement,
        /// Where it may start.
        starts: String,
    },
    /// Two instances want the same slice.
    #[error("{placement} overlaps {other}; give them slices of their own")]
    Overlap {
        /// What was asked.
        placement: Placement,
        /// What lies there already.
        other: Placement,
    },
    /// More instances of a profile than the driver allows.
    #[error("{placement}: at most {max} of this profile fit on a board")]
    TooMany {
        /// What was asked.
        placement: Placement,
        /// The limit.
        max: u32,
    },
}

impl Geometry {
    /// The layout, when the board allows it; instances are kept in order of their start.
    pub fn new(board: &'static Board, wanted: &[Placement]) -> Result<Self, GeometryError> {
        let mut placed: Vec<(&'static Profile, u32)> = Vec::new();
        for placement in wanted {
            let profile = check(board, &placed, placement)?;
            placed.push((profile, placement.start));
        }
        placed.sort_by_key(|(_, start)| *start);
        Ok(Self { board, placed })
    }

    /// Profile and first memory slice of each instance, by start.
    pub fn instances(&self) -> &[(&'static Profile, u32)] {
        &self.placed
    }

    /// The board it lies on.
    pub fn board(&self) -> &'static Board {
        self.board
    }
}

fn check(
    board: &'static Board,
    placed: &[(&'static Profile, u32)],
    placement: &Placement,
) -> Result<&'static Profile, GeometryError> {
    let list = |numbers: &[u32]| {
        let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        texts.join(", ")
    };
    let profile = board
        .profile(&placement.profile)
        .ok_or_else(|| GeometryError::Profile {
            placement: placement.clone(),
            known: board
                .profiles
                .iter()
                .map(|p| p.name)
                .collect::<Vec<_>>()
                .join(", "),
        })?;
    if !profile.starts.contains(&placement.start) {
        return Err(GeometryError::Start {
            placement: placement.clone(),
            starts: list(profile.starts),
        });
    }
    let end = placement.start + profile.size;
    let overlapped =
        (placed.iter()).find(|(other, start)| placement.start < start + other.size && *start < end);
    if let Some((other, start)) = overlapped {
        return Err(GeometryError::Overlap {
            placement: placement.clone(),
            other: Placement {
                profile: other.name.into(),
                start: *start,
            },
        });
    }
    let same = placed
        .iter()
        .filter(|(other, _)| other.name == profile.name);
    if same.count() >= profile.max as usize {
        return Err(GeometryError::TooMany {
            placement: placement.clone(),
            max: profile.max,
        });
    }
    Ok(profile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mig::boards::{A30, H100_80};

    fn layout(board: &'static Board, text: &str) -> Result<Vec<u32>, String> {
        let wanted: Vec<Placement> = text.split(' ').map(|p| p.parse().unwrap()).collect();
        let geometry = Geometry::new(board, &wanted).map_err(|error| error.to_string())?;
        let ids = geometry.instances().iter();
        Ok(ids
            .map(|(profile, start)| board.instance_id(profile, *start))
            .collect())
    }

    #[test]
    fn instance_ids_are_those_of_real_listings() {
        // NVIDIA/DCGM#138: GI 3 2g 0:2, GI 9 1g 2:1, GI 10 1g 3:1, GI 2 3g 4:4.
        let dcgm = layout(&H100_80, "3g.40gb@4 2g.20gb@0 1g.10gb@2 1g.10gb@3");
        assert_eq!(dcgm, Ok(vec![3, 9, 10, 2]));
        // kubernetes-sigs/dra-driver-nvidia-gpu#933: GI 7, 8, 12.
        let dra = layout(&H100_80, "1g.10gb@0 1g.10gb@1 1g.10gb@5");
        assert_eq!(dra, Ok(vec![7, 8, 12]));
        assert_eq!(layout(&A30, "2g.12gb@2 1g.6gb@0"), Ok(vec![3, 2]));
    }

    #[test]
    fn refusals_say_what_would_be_right() {
        let refused = |text| layout(&H100_80, text).unwrap_err();
        assert_eq!(
            refused("3g.40gb@2"),
            "3g.40gb@2: this profile may start at 0, 4 only"
        );
        assert_eq!(
            refused("3g.40gb@0 2g.20gb@2"),
            "2g.20gb@2 overlaps 3g.40gb@0; give them slices of their own"
        );
        assert_eq!(
            refused("1g.10gb+me@0 1g.10gb+me@1"),
            "1g.10gb+me@1: at most 1 of this profile fit on a board"
        );
        assert!(refused("1g.5gb@0").contains("it has 1g.10gb, 1g.10gb+me, 1g.20gb"));
    }
}
