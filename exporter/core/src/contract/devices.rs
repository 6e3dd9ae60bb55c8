//! Which GPUs and MIG instances are shown under DCGM's names: dcgm-exporter's `--devices`. Decides nothing about
//! Foresail's own names.

use std::{collections::BTreeSet, str::FromStr};

/// GPUs that a range may span; no node has more.
const MOST: u32 = 256;

/// What is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Devices {
    /// Positions of the GPUs; `None`: all.
    gpus: Option<BTreeSet<u32>>,
    /// Whether a GPU's own series are shown.
    pub boards: bool,
    /// Whether those of its MIG instances are.
    pub instances: bool,
}

impl Default for Devices {
    fn default() -> Self {
        Self {
            gpus: None,
            boards: true,
            instances: true,
        }
    }
}

impl Devices {
    /// Whether the GPU at that position is among them.
    pub fn gpu(&self, index: u32) -> bool {
        (self.gpus.as_ref()).is_none_or(|gpus| gpus.contains(&index))
    }
}

/// Why it cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DevicesError {
    /// Not one of the letters.
    #[error("{0:?} is no choice of devices; write f, g, g:0,2-3, i or g+i")]
    Form(String),
    /// DCGM numbers instances in a way of its own.
    #[error(
        "{0:?}: MIG instances are not chosen by number, which only DCGM gives; write i for all of them"
    )]
    Instances(String),
}

impl FromStr for Devices {
    type Err = DevicesError;

    fn from_str(text: &str) -> Result<Self, DevicesError> {
        let form = || DevicesError::Form(text.into());
        match text.split_once(':') {
            None => match text {
                "f" | "g+i" => Ok(Self::default()),
                "g" => Ok(Self {
                    instances: false,
                    ..Self::default()
                }),
                "i" => Ok(Self {
                    boards: false,
                    ..Self::default()
                }),
                _ => Err(form()),
            },
            Some(("g", range)) => {
                let gpus = range.split(',').map(numbers).collect::<Option<Vec<_>>>();
                let gpus = gpus.ok_or_else(form)?.into_iter().flatten().collect();
                Ok(Self {
                    gpus: Some(gpus),
                    instances: false,
                    ..Self::default()
                })
            }
            Some(("i", _)) => Err(DevicesError::Instances(text.into())),
            Some(_) => Err(form()),
        }
    }
}

/// `3` or `0-3`.
fn numbers(text: &str) -> Option<std::ops::RangeInclusive<u32>> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let (from, to) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
    (from <= to && to < MOST).then_some(from..=to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_those_of_dcgm_exporter() {
        let read = |text: &str| text.parse::<Devices>().unwrap();
        assert_eq!(read("f"), Devices::default());
        assert_eq!(read("g+i"), Devices::default());
        let some = read("g:0,2-3");
        let shown: Vec<u32> = (0..9).filter(|index| some.gpu(*index)).collect();
        assert_eq!(
            (shown, some.boards, some.instances),
            (vec![0, 2, 3], true, false)
        );
        let instances = read("i");
        assert!(instances.gpu(7) && !instances.boards && instances.instances);
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "x",
            "g:",
            "g:a",
            "g:3-1",
            "f:0",
            "g:0-99999999",
            "i:0",
            "g:0:1",
        ] {
            assert!(text.parse::<Devices>().is_err(), "{text}");
        }
    }
}
