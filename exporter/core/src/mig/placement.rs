//! A profile at a place, written `3g.40gb@4` (profile and first memory slice).

use std::{fmt, str::FromStr};

/// A profile name and where it starts; whether a board allows it is [`super::geometry`]'s question.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Placement {
    /// Profile name.
    pub profile: String,
    /// First memory slice.
    pub start: u32,
}

/// Why a placement cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// No `@`, or nothing before it.
    #[error("placement {0:?} is not of the form PROFILE@START, such as 3g.40gb@4")]
    Form(String),
    /// The start is no number.
    #[error("placement {text:?} starts at {start:?}, which is not a whole number such as 4")]
    Start {
        /// The whole placement.
        text: String,
        /// What stands behind the `@`.
        start: String,
    },
}

impl FromStr for Placement {
    type Err = PlacementError;

    fn from_str(text: &str) -> Result<Self, PlacementError> {
        let Some((profile, start)) = text.rsplit_once('@').filter(|(name, _)| !name.is_empty())
        else {
            return Err(PlacementError::Form(text.into()));
        };
        let start = start.parse().map_err(|_| PlacementError::Start {
            text: text.into(),
            start: start.into(),
        })?;
        Ok(Self {
            profile: profile.into(),
            start,
        })
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.profile, self.start)
    }
}
