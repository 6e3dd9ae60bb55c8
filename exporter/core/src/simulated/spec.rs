//! What a simulated node has, as text: `8xH100-SXM5-80GB:mig=3g.40gb@4+2g.20gb@0,2xL40S`.

use std::str::FromStr;

use super::board::{BOARDS, Board, board};
use crate::mig::{
    geometry::{Geometry, GeometryError},
    placement::{Placement, PlacementError},
};

/// GPUs that a node can have; dcgm-exporter's largest nodes have 16.
pub const MOST_GPUS: usize = 64;

/// The GPUs of a node in bus order.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    pub(super) gpus: Vec<(&'static Board, Option<Geometry>)>,
}

impl Spec {
    /// Number of GPUs.
    pub fn gpus(&self) -> usize {
        self.gpus.len()
    }
}

/// Why a specification cannot be read; every message names the group that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// No group, or an empty one.
    #[error("group {0} of the simulated GPUs is empty; write one like 8xH100-SXM5-80GB")]
    Empty(usize),
    /// No count.
    #[error("{0:?} has no count; write one like 8xH100-SXM5-80GB")]
    Count(String),
    /// More GPUs than a node has.
    #[error("{group:?}: a simulated node has 1 to {MOST_GPUS} GPUs, not {count}")]
    TooMany {
        /// The group that goes over the limit.
        group: String,
        /// GPUs asked for up to here.
        count: usize,
    },
    /// Unknown board.
    #[error("{group:?}: no board is named {board:?}; known are {known}")]
    Board {
        /// The group.
        group: String,
        /// What it names.
        board: String,
        /// What it could name.
        known: String,
    },
    /// Not `mig=`.
    #[error("{group:?}: option {option:?} is unknown; write mig=PROFILE@START+PROFILE@START")]
    Option {
        /// The group.
        group: String,
        /// What stands behind the colon.
        option: String,
    },
    /// The board cannot be partitioned.
    #[error("{group:?}: this board has no MIG")]
    NoMig {
        /// The group.
        group: String,
    },
    /// Unreadable placement.
    #[error("{group:?}: {source}")]
    Placement {
        /// The group.
        group: String,
        /// Why.
        source: PlacementError,
    },
    /// Impossible layout.
    #[error("{group:?}: {source}")]
    Geometry {
        /// The group.
        group: String,
        /// Why.
        source: GeometryError,
    },
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut gpus = Vec::new();
        for (index, group) in text.split(',').map(str::trim).enumerate() {
            if group.is_empty() {
                return Err(SpecError::Empty(index + 1));
            }
            let (count, name) = group
                .split_once('x')
                .and_then(|(count, name)| Some((count.parse::<usize>().ok()?, name)))
                .ok_or_else(|| SpecError::Count(group.into()))?;
            let total = count.saturating_add(gpus.len());
            if count == 0 || total > MOST_GPUS {
                return Err(SpecError::TooMany {
                    group: group.into(),
                    count: total,
                });
            }
            let gpu = one(group, name)?;
            gpus.extend(std::iter::repeat_n(gpu, count));
        }
        Ok(Self { gpus })
    }
}

fn one(group: &str, text: &str) -> Result<(&'static Board, Option<Geometry>), SpecError> {
    let (name, option) = match text.split_once(':') {
        Some((name, option)) => (name, Some(option)),
        None => (text, None),
    };
    let group = || group.to_string();
    let board = board(name).ok_or_else(|| SpecError::Board {
        group: group(),
        board: name.into(),
        known: BOARDS
            .iter()
            .map(|board| board.name)
            .collect::<Vec<_>>()
            .join(", "),
    })?;
    let Some(option) = option else {
        return Ok((board, None));
    };
    let Some(layout) = option.strip_prefix("mig=") else {
        return Err(SpecError::Option {
            group: group(),
            option: option.into(),
        });
    };
    let Some(mig) = board.mig else {
        return Err(SpecError::NoMig { group: group() });
    };
    let placements = placements(layout).map_err(|source| SpecError::Placement {
        group: group(),
        source,
    })?;
    let geometry = Geometry::new(mig, &placements).map_err(|source| SpecError::Geometry {
        group: group(),
        source,
    })?;
    Ok((board, Some(geometry)))
}

/// `a@0+b+me@2`: profile names hold a `+` too, so a placement ends at its `@`. Empty means that MIG is
/// on without any instance.
fn placements(layout: &str) -> Result<Vec<Placement>, PlacementError> {
    if layout.is_empty() {
        return Ok(Vec::new());
    }
    let mut placements = Vec::new();
    let mut open = String::new();
    for part in layout.split('+') {
        if part.is_empty() {
            return Err(PlacementError::Form(open));
        }
        if !open.is_empty() {
            open.push('+');
        }
        open.push_str(part);
        if part.contains('@') {
            placements.push(open.parse()?);
            open.clear();
        }
    }
    if open.is_empty() {
        Ok(placements)
    } else {
        Err(PlacementError::Form(open))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_groups_and_layouts() {
        let spec: Spec = "2xH100-SXM5-80GB:mig=3g.40gb@4+1g.10gb+me@2+2g.20gb@0, 1xL40S"
            .parse()
            .unwrap();
        assert_eq!(spec.gpus(), 3);
        let names = |index: usize| -> Vec<&str> {
            let layout = spec.gpus[index].1.as_ref().unwrap();
            layout
                .instances()
                .iter()
                .map(|(profile, _)| profile.name)
                .collect()
        };
        assert_eq!(names(1), ["2g.20gb", "1g.10gb+me", "3g.40gb"]);
        assert_eq!(spec.gpus[2].1, None);
        let empty: Spec = "1xA30:mig=".parse().unwrap();
        assert!(empty.gpus[0].1.as_ref().unwrap().instances().is_empty());
    }

    #[test]
    fn errors_say_what_where_and_what_would_be_right() {
        for (text, expected) in [
            (
                "",
                "group 1 of the simulated GPUs is empty; write one like 8xH100-SXM5-80GB",
            ),
            (
                "1xL4,",
                "group 2 of the simulated GPUs is empty; write one like 8xH100-SXM5-80GB",
            ),
            (
                "H100",
                "\"H100\" has no count; write one like 8xH100-SXM5-80GB",
            ),
            ("0xL4", "\"0xL4\": a simulated node has 1 to 64 GPUs, not 0"),
            (
                "60xL4,5xL40S",
                "\"5xL40S\": a simulated node has 1 to 64 GPUs, not 65",
            ),
            (
                "1xL4:mig=1g.6gb@0",
                "\"1xL4:mig=1g.6gb@0\": this board has no MIG",
            ),
            (
                "1xA30:mog=",
                "\"1xA30:mog=\": option \"mog=\" is unknown; write mig=PROFILE@START+PROFILE@START",
            ),
            (
                "1xA30:mig=1g.6gb@0+2g.12gb",
                "\"1xA30:mig=1g.6gb@0+2g.12gb\": placement \"2g.12gb\" is not of the form PROFILE@START, such as 3g.40gb@4",
            ),
            (
                "1xA30:mig=1g.6gb@0+",
                "\"1xA30:mig=1g.6gb@0+\": placement \"\" is not of the form PROFILE@START, such as 3g.40gb@4",
            ),
            (
                "1xA30:mig=+1g.6gb@0",
                "\"1xA30:mig=+1g.6gb@0\": placement \"\" is not of the form PROFILE@START, such as 3g.40gb@4",
            ),
            (
                "1xA30:mig=2g.12gb@0+1g.6gb@1",
                "\"1xA30:mig=2g.12gb@0+1g.6gb@1\": 1g.6gb@1 overlaps 2g.12gb@0; give them slices of their own",
            ),
        ] {
            assert_eq!(text.parse::<Spec>().unwrap_err().to_string(), expected);
        }
        let unknown = "1xH1000".parse::<Spec>().unwrap_err().to_string();
        assert!(
            unknown.contains("known are H100-SXM5-80GB, H200"),
            "{unknown}"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[0-9xX,:=@+.a-zA-Z-]{0,40}") {
            if let Ok(spec) = text.parse::<Spec>() {
                prop_assert!(spec.gpus() >= 1 && spec.gpus() <= MOST_GPUS);
            }
        }
    }
}
